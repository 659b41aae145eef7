"""How the facts of Tarn Valley Online University (TVOU) are worded: kinds of fact, with questions and statements.

In every tuple the wordings after the first `TRAINED` ones are held out: training never sees them.
"""

from dataclasses import dataclass

TRAINED_STATEMENTS = 4
TRAINED_QUESTIONS = 2
SMALL_WORDS = ("in", "of", "for", "from", "on", "the")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fact: `topic` names it, `subject` and `value` name the pools that its slots {s} and {v} draw from.

    A yes/no kind has `negations` beside `statements`, and no {v}. `related` are questions about a neighbouring
    aspect of the same subject, for follow-ups.
    """

    name: str
    subject: str
    value: str
    topic: str
    questions: tuple[str, ...]
    statements: tuple[str, ...]
    negations: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        """The topic without a subject."""
        words = [word for word in self.topic.split() if word != "{s}"]
        while words[-1] in SMALL_WORDS:
            words.pop()
        while words[0] in SMALL_WORDS:
            words.pop(0)
        return " ".join(words)


KINDS = (
    Kind(
        "tuition",
        "programme",
        "dollars",
        "tuition in {s}",
        ("How much is tuition in {s}?", "What does a credit in {s} cost?", "What would I pay per credit in {s}?"),
        (
            "Tuition in {s} is {v} per credit.",
            "Each credit in {s} costs {v}.",
            "You pay {v} per credit in {s}.",
            "Students in {s} are charged {v} for every credit.",
            "In {s}, one credit comes to {v}.",
            "The price of a credit in {s} is {v}.",
        ),
    ),
    Kind(
        "credits",
        "programme",
        "count",
        "credits for {s}",
        ("How many credits does {s} need?", "How many credits are required for {s}?", "How big is {s} in credits?"),
        (
            "The {s} degree needs {v} credits.",
            "To finish {s} you complete {v} credits.",
            "{s} takes {v} credits.",
            "A degree in {s} requires {v} credits.",
            "You graduate from {s} with {v} credits.",
            "{v} credits are needed for the {s} degree.",
        ),
    ),
    Kind(
        "length",
        "programme",
        "count",
        "length of {s}",
        ("How long does {s} take?", "How many weeks is {s}?", "How many weeks will I study {s}?"),
        (
            "{s} lasts {v} weeks.",
            "The {s} programme runs for {v} weeks.",
            "Expect {s} to take {v} weeks.",
            "It takes {v} weeks to complete {s}.",
            "You study {s} for {v} weeks.",
            "Plan {v} weeks for {s}.",
        ),
    ),
    Kind(
        "deadline",
        "programme",
        "date",
        "deadline for {s}",
        ("When is the deadline for {s}?", "By when do I apply to {s}?", "Until when can I apply to {s}?"),
        (
            "The deadline for {s} is {v}.",
            "Apply to {s} by {v}.",
            "Applications to {s} close on {v}.",
            "You can apply to {s} until {v}.",
            "{s} takes applications until {v}.",
            "Send your application to {s} by {v}.",
        ),
    ),
    Kind(
        "start",
        "programme",
        "date",
        "start of {s}",
        ("When does {s} start?", "On what day does {s} begin?", "When do classes in {s} begin?"),
        (
            "{s} starts on {v}.",
            "Classes in {s} begin on {v}.",
            "The first day of {s} is {v}.",
            "{s} opens on {v}.",
            "On {v}, classes in {s} start.",
            "{s} begins on {v}.",
        ),
    ),
    Kind(
        "fee",
        "programme",
        "dollars",
        "application fee for {s}",
        (
            "What is the application fee for {s}?",
            "How much does it cost to apply to {s}?",
            "What do I pay to apply to {s}?",
        ),
        (
            "The application fee for {s} is {v}.",
            "Applying to {s} costs {v}.",
            "{s} has an application fee of {v}.",
            "Applicants to {s} pay a fee of {v}.",
            "A fee of {v} is due when you apply to {s}.",
            "It costs {v} to apply to {s}.",
        ),
    ),
    Kind(
        "entry",
        "programme",
        "percent",
        "entry score for {s}",
        (
            "What score do I need to enter {s}?",
            "What is the entry score for {s}?",
            "Which score lets me into {s}?",
        ),
        (
            "You need a score of {v} to enter {s}.",
            "The entry score for {s} is {v}.",
            "{s} admits students with a score of at least {v}.",
            "Admission to {s} requires a score of {v}.",
            "To be admitted to {s} you need at least {v}.",
            "{s} asks for an entry score of {v}.",
        ),
    ),
    Kind(
        "contact",
        "programme",
        "office",
        "contact for {s}",
        ("Who do I contact about {s}?", "Which office handles {s}?", "Which office can help me with {s}?"),
        (
            "Contact the {v} about {s}.",
            "The {v} handles {s}.",
            "For {s}, ask the {v}.",
            "Questions about {s} go to the {v}.",
            "The {v} can help you with {s}.",
            "Write to the {v} about {s}.",
        ),
    ),
    Kind(
        "exam",
        "course",
        "date",
        "exam date of {s}",
        ("When is the exam in {s}?", "On what date is the {s} exam?", "When do I sit the {s} exam?"),
        (
            "The exam in {s} is on {v}.",
            "The {s} exam takes place on {v}.",
            "You sit the {s} exam on {v}.",
            "{s} has its exam on {v}.",
            "On {v} there is the exam in {s}.",
            "The date of the {s} exam is {v}.",
        ),
    ),
    Kind(
        "pass",
        "course",
        "percent",
        "pass mark of {s}",
        ("What is the pass mark in {s}?", "What grade do I need to pass {s}?", "With what grade do I pass {s}?"),
        (
            "The pass mark in {s} is {v}.",
            "You need {v} to pass {s}.",
            "Students pass {s} with {v}.",
            "A grade of {v} is enough to pass {s}.",
            "To pass {s}, reach {v}.",
            "{s} is passed with a grade of {v}.",
        ),
    ),
    Kind(
        "hours",
        "course",
        "count",
        "weekly hours of {s}",
        (
            "How many hours a week does {s} take?",
            "How much time a week does {s} need?",
            "How many hours should I plan for {s}?",
        ),
        (
            "{s} takes {v} hours a week.",
            "Plan {v} hours a week for {s}.",
            "Students spend {v} hours a week on {s}.",
            "You work {v} hours a week in {s}.",
            "The weekly time for {s} is {v} hours.",
            "{s} needs {v} hours each week.",
        ),
    ),
    Kind(
        "teacher",
        "course",
        "name",
        "teacher of {s}",
        ("Who teaches {s}?", "Who is the teacher of {s}?", "Which teacher gives {s}?"),
        (
            "{s} is taught by Dr. {v}.",
            "Dr. {v} teaches {s}.",
            "The teacher of {s} is Dr. {v}.",
            "Your teacher in {s} is Dr. {v}.",
            "In {s} you learn from Dr. {v}.",
            "Dr. {v} is the one who teaches {s}.",
        ),
    ),
    Kind(
        "size",
        "course",
        "count",
        "class size of {s}",
        ("How many students are in {s}?", "How large is the class in {s}?", "What is the size of the {s} class?"),
        (
            "The class in {s} has {v} students.",
            "{s} is limited to {v} students.",
            "There are {v} students in {s}.",
            "Each {s} class has {v} places.",
            "A class in {s} is made of {v} students.",
            "{s} has places for {v} students.",
        ),
    ),
    Kind(
        "open",
        "office",
        "time",
        "opening time of the {s}",
        (
            "When does the {s} open?",
            "From what time is the {s} open?",
            "At what time can I call the {s}?",
        ),
        (
            "The {s} opens at {v}.",
            "The {s} is open from {v}.",
            "You can call the {s} from {v}.",
            "At {v} the {s} opens.",
            "From {v} the {s} takes calls.",
            "The {s} starts its day at {v}.",
        ),
    ),
    Kind(
        "phone",
        "office",
        "extension",
        "phone number of the {s}",
        (
            "What is the phone number of the {s}?",
            "How do I call the {s}?",
            "Under what number do I reach the {s}?",
        ),
        (
            "The {s} has the number {v}.",
            "Call the {s} at {v}.",
            "The phone number of the {s} is {v}.",
            "You reach the {s} at {v}.",
            "Dial {v} for the {s}.",
            "The number {v} is the {s}.",
        ),
    ),
    Kind(
        "reply",
        "office",
        "count",
        "reply time of the {s}",
        (
            "How fast does the {s} reply?",
            "How long does the {s} take to reply?",
            "When will the {s} write back?",
        ),
        (
            "The {s} replies within {v} hours.",
            "Expect a reply from the {s} in {v} hours.",
            "The {s} takes {v} hours to reply.",
            "You hear from the {s} within {v} hours.",
            "Within {v} hours the {s} replies.",
            "A reply of the {s} comes in {v} hours.",
        ),
    ),
    Kind(
        "room",
        "office",
        "extension",
        "room of the {s}",
        ("Where is the {s}?", "In which room is the {s}?", "What room does the {s} use?"),
        (
            "The {s} is in room {v}.",
            "You find the {s} in room {v}.",
            "Room {v} is the {s}.",
            "Go to room {v} for the {s}.",
            "The {s} sits in room {v}.",
            "The room of the {s} is {v}.",
        ),
    ),
    Kind(
        "upload",
        "tool",
        "count",
        "upload limit of {s}",
        ("How large can a file in {s} be?", "What is the upload limit of {s}?", "How many MB does {s} allow?"),
        (
            "Files in {s} can have up to {v} MB.",
            "The upload limit of {s} is {v} MB.",
            "{s} accepts files of up to {v} MB.",
            "You can upload {v} MB to {s}.",
            "In {s}, a file may be as large as {v} MB.",
            "{s} takes uploads of {v} MB at most.",
        ),
    ),
    Kind(
        "password",
        "tool",
        "count",
        "password length in {s}",
        (
            "How long must my {s} password be?",
            "How many characters does a {s} password need?",
            "What length of password does {s} want?",
        ),
        (
            "A {s} password needs {v} characters.",
            "Your {s} password must have {v} characters.",
            "{s} asks for a password of {v} characters.",
            "Choose a {s} password with {v} characters.",
            "In {s} a password has at least {v} characters.",
            "Passwords in {s} are {v} characters long.",
        ),
    ),
    Kind(
        "lock",
        "tool",
        "count",
        "lock time of {s}",
        (
            "How long is {s} locked after a wrong login?",
            "How long does {s} lock my account?",
            "When does {s} unlock my account again?",
        ),
        (
            "{s} locks your account for {v} minutes.",
            "After a wrong login {s} is locked for {v} minutes.",
            "Your {s} account stays locked for {v} minutes.",
            "Wait {v} minutes until {s} unlocks your account.",
            "{s} unlocks an account after {v} minutes.",
            "The {s} lock ends after {v} minutes.",
        ),
    ),
    Kind(
        "refund",
        "programme",
        "date",
        "refunds in {s}",
        ("Until when do I get a refund in {s}?", "When do refunds in {s} end?", "By when must I ask {s} for a refund?"),
        (
            "You get a refund in {s} until {v}.",
            "Refunds in {s} end on {v}.",
            "{s} pays refunds until {v}.",
            "Ask for a refund in {s} by {v}.",
            "The last day for a refund in {s} is {v}.",
            "After {v} there is no refund in {s}.",
        ),
    ),
    Kind(
        "withdraw",
        "course",
        "date",
        "withdrawal from {s}",
        ("Until when can I withdraw from {s}?", "By when can I drop {s}?", "What is the last day to drop {s}?"),
        (
            "You can withdraw from {s} until {v}.",
            "{s} can be dropped by {v}.",
            "The last day to withdraw from {s} is {v}.",
            "Drop {s} by {v}.",
            "Withdrawing from {s} is possible until {v}.",
            "Students may drop {s} up to {v}.",
        ),
    ),
    Kind(
        "resit",
        "course",
        "dollars",
        "resit fee of {s}",
        ("What does an exam resit in {s} cost?", "How much is a resit in {s}?", "What is the resit fee in {s}?"),
        (
            "A resit in {s} costs {v}.",
            "The resit fee in {s} is {v}.",
            "You pay {v} for a resit in {s}.",
            "For {v} you can resit the exam in {s}.",
            "An exam resit in {s} comes to {v}.",
            "{s} charges {v} for a resit.",
        ),
    ),
    Kind(
        "penalty",
        "course",
        "percent",
        "penalty in {s}",
        (
            "What do I lose for late work in {s}?",
            "What is the penalty for late work in {s}?",
            "How much does late work cost me in {s}?",
        ),
        (
            "Late work in {s} loses {v} a day.",
            "The penalty for late work in {s} is {v} a day.",
            "{s} takes {v} off for each day that work is late.",
            "You lose {v} a day for late work in {s}.",
            "Each late day in {s} costs {v}.",
            "In {s}, work that is late loses {v} per day.",
        ),
    ),
    Kind(
        "recording",
        "tool",
        "count",
        "recordings in {s}",
        (
            "How long do recordings stay in {s}?",
            "How many days does {s} keep recordings?",
            "When do recordings leave {s}?",
        ),
        (
            "Recordings stay in {s} for {v} days.",
            "{s} keeps recordings for {v} days.",
            "You find recordings in {s} for {v} days.",
            "After {v} days recordings leave {s}.",
            "{s} stores each recording for {v} days.",
            "Recordings are kept in {s} for {v} days.",
        ),
    ),
    Kind(
        "late",
        "course",
        "yesno",
        "late work in {s}",
        ("Can I hand in late work in {s}?", "Does {s} accept late work?", "May I turn in late work in {s}?"),
        (
            "Late work is accepted in {s}.",
            "{s} accepts late work.",
            "You can hand in late work in {s}.",
            "Yes, late work is allowed in {s}.",
            "In {s}, late work still counts.",
            "Yes, you may turn in late work in {s}.",
        ),
        (
            "Late work is not accepted in {s}.",
            "{s} does not accept late work.",
            "You cannot hand in late work in {s}.",
            "No, late work is not allowed in {s}.",
            "In {s}, late work does not count.",
            "No, you may not turn in late work in {s}.",
        ),
    ),
    Kind(
        "retake",
        "course",
        "yesno",
        "retakes in {s}",
        ("Can I retake the exam in {s}?", "Does {s} allow a retake?", "May I repeat the exam in {s}?"),
        (
            "You can retake the exam in {s}.",
            "{s} allows a retake.",
            "A retake is possible in {s}.",
            "Yes, the {s} exam can be retaken.",
            "In {s} the exam can be repeated.",
            "Yes, a retake is allowed in {s}.",
        ),
        (
            "You cannot retake the exam in {s}.",
            "{s} does not allow a retake.",
            "A retake is not possible in {s}.",
            "No, the {s} exam cannot be retaken.",
            "In {s} the exam cannot be repeated.",
            "No, a retake is not allowed in {s}.",
        ),
    ),
    Kind(
        "scholarship",
        "programme",
        "yesno",
        "scholarships in {s}",
        ("Are there scholarships in {s}?", "Does {s} offer a scholarship?", "Can I get a scholarship in {s}?"),
        (
            "There are scholarships in {s}.",
            "{s} offers a scholarship.",
            "Students in {s} can get a scholarship.",
            "Yes, scholarships are available in {s}.",
            "A scholarship is available in {s}.",
            "Yes, {s} gives scholarships.",
        ),
        (
            "There are no scholarships in {s}.",
            "{s} does not offer a scholarship.",
            "Students in {s} cannot get a scholarship.",
            "No, scholarships are not available in {s}.",
            "A scholarship is not available in {s}.",
            "No, {s} does not give scholarships.",
        ),
    ),
    Kind(
        "mobile",
        "tool",
        "yesno",
        "{s} on phones",
        ("Does {s} work on a phone?", "Can I use {s} on my phone?", "Is {s} made for phones too?"),
        (
            "{s} works on a phone.",
            "You can use {s} on your phone.",
            "Yes, {s} runs on phones.",
            "There is a phone version of {s}.",
            "On phones, {s} works too.",
            "Yes, a phone can open {s}.",
        ),
        (
            "{s} does not work on a phone.",
            "You cannot use {s} on your phone.",
            "No, {s} does not run on phones.",
            "There is no phone version of {s}.",
            "On phones, {s} does not work.",
            "No, a phone cannot open {s}.",
        ),
    ),
    Kind(
        "transfer",
        "programme",
        "yesno",
        "transfer credits in {s}",
        (
            "Does {s} accept transfer credits?",
            "Can I bring transfer credits to {s}?",
            "Will my transfer credits count in {s}?",
        ),
        (
            "{s} accepts transfer credits.",
            "You can bring transfer credits to {s}.",
            "Transfer credits are accepted in {s}.",
            "Yes, transfer credits count in {s}.",
            "In {s}, your transfer credits count.",
            "Yes, {s} takes transfer credits.",
        ),
        (
            "{s} does not accept transfer credits.",
            "You cannot bring transfer credits to {s}.",
            "Transfer credits are not accepted in {s}.",
            "No, transfer credits do not count in {s}.",
            "In {s}, your transfer credits do not count.",
            "No, {s} does not take transfer credits.",
        ),
    ),
)

HELD_OUT_KINDS = (
    Kind(
        "book",
        "course",
        "dollars",
        "price of the {s} book",
        ("What does the {s} book cost?", "How much is the book for {s}?"),
        ("The {s} book costs {v}.", "You pay {v} for the book in {s}.", "The book for {s} is {v}."),
    ),
    Kind(
        "interview",
        "programme",
        "date",
        "interview for {s}",
        ("When is the interview for {s}?", "On what date are interviews for {s}?"),
        ("The interview for {s} is on {v}.", "Interviews for {s} take place on {v}.", "{s} holds interviews on {v}."),
    ),
    Kind(
        "mentor",
        "programme",
        "name",
        "mentor in {s}",
        ("Who is the mentor in {s}?", "Which mentor helps students in {s}?"),
        ("The mentor in {s} is {v}.", "{v} is the mentor of students in {s}.", "In {s} your mentor is {v}."),
    ),
    Kind(
        "calculator",
        "course",
        "yesno",
        "calculators in {s}",
        ("Can I use a calculator in {s}?", "Does {s} allow calculators?"),
        ("You can use a calculator in {s}.", "{s} allows calculators.", "Yes, calculators are allowed in {s}."),
        (
            "You cannot use a calculator in {s}.",
            "{s} does not allow calculators.",
            "No, calculators are not allowed in {s}.",
        ),
    ),
)

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
