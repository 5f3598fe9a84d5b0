"""Language over scenes: words and spelling, one typed program language, a grammar of human sentences, phenomena.

`programs` is the language (parse, execute, explain), `grammar` reads sentences into candidate programs.
"""
