"""Serves Python programs: `import pathway_local` names all of it."""
