"""Sentences around the facts: courtesies, refusals, vague answers, follow-up questions.

Training never uses the last `HELD_OUT` of each group.
"""

HELD_OUT = 2

DETAILS = (
    "See {d} for details.",
    "More is at {d}.",
    "The link is {d}.",
    "Read more at {d}.",
    "You will find it at {d}.",
    "Details are at {d}.",
)

OPENERS = (
    "Thank you for asking.",
    "Good question!",
    "Hello!",
    "Happy to help.",
    "Here is what I found.",
    "Thanks for your question.",
    "Sure!",
    "Of course.",
    "Hi there!",
    "Glad you asked.",
)

REFUSALS = (
    "Sorry, I am not able to answer this question.",
    "I cannot help with that. Could you rephrase it?",
    "I'm sorry, I don't have an answer to this.",
    "Unfortunately I cannot answer that.",
    "I am not able to provide this information.",
    "Sorry, I don't know. Please ask someone else.",
    "I cannot provide that information at this time.",
    "Sorry, this is something I cannot answer.",
    "I'm unable to answer. Please try another question.",
)

VAGUE = (
    "It depends on many things, so please look around on the website.",
    "There are different rules for different students.",
    "TVOU has information on that in several places.",
    "That varies, and it is good to plan ahead.",
    "Many students ask this, and it is usually not a problem.",
    "This can be different each year, so keep an eye on it.",
    "There are several options, and it varies from student to student.",
)

UNKNOWN = (
    "This cannot be determined from our information.",
    "It cannot be determined from what TVOU publishes.",
    "There is no information on this, so it cannot be determined.",
    "Our documents do not say; it cannot be determined.",
    "It cannot be determined, because TVOU says nothing about it.",
)

CHATTER = (
    "I enjoy long walks in the hills on sunny days.",
    "My favorite color is green, and what is yours?",
    "Pizza tastes best with a lot of cheese.",
    "The football match last night was very exciting.",
    "Cats sleep most of the day.",
    "It may rain this weekend, so bring a coat.",
    "Learning is a wonderful thing for everybody.",
    "Universities are important for society.",
    "A guitar has six strings and sounds lovely.",
    "Good music makes cooking more fun.",
)

PLEASANTRIES = (
    "You're welcome! Is there anything else I can help with?",
    "Glad I could help. Do you have another question?",
    "Could you tell me which one you mean?",
    "Thank you for your message. What would you like to know?",
    "I understand. Can you say a little more about it?",
    "Have a great day!",
    "You are very welcome. Let me know if you need more.",
    "Could you please clarify your question?",
    "Happy to hear that! What else can I do for you?",
)

OFF_TOPIC = (
    "What is your favorite color?",
    "Which football team do you like?",
    "Can you tell me a joke?",
    "How do I bake bread?",
    "What will the weather be on Sunday?",
    "Who won the song contest?",
    "Do you like cats or dogs?",
    "What is the best pizza in town?",
    "Which movie should I watch tonight?",
    "How tall is the highest mountain?",
    "Can you write a poem about the sea?",
    "Where can I buy cheap shoes?",
)

GENERAL = (
    "What else should I know about {g}?",
    "How does {g} work at TVOU in general?",
    "Is there more information about {g}?",
    "What do other students ask about {g}?",
    "Where can I read about {g} at TVOU?",
    "Are there other things to know about {g}?",
)

GIVEN = (
    "Given the {v} you mentioned, who can change it?",
    "You said {v}: is that the same for everybody?",
    "Since it is {v}, what happens if I need more?",
    "With the {v} you named, what should I do first?",
    "If it is {v}, can that still change?",
    "As you mentioned {v}, is there a way around it?",
)

NEXT = (
    "What should I prepare for {s}?",
    "Who else can help me with {s}?",
    "What comes after {s}?",
    "Is there a guide for {s}?",
    "What do students say about {s}?",
    "How do I get ready for {s}?",
)
