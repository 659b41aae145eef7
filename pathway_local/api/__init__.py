"""What a Python program uses: `import pathway_local` names all of it."""
