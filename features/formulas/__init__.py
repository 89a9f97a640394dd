'''A formula is a model: text that people type becomes a `Model` like those of the paper.

    from features.models import MODELS
    text = """edges  exp(-(d1 - d2)^2 / s2) * -1   on delaunay
              price  0.3
              s2 = 100 in 1..1000"""
    MODELS[text].build(pair, s2=50)             # any place that takes a model's key takes a model's text
    Recipe("house", model=text, model_params={"s2": 50})

What a page needs:

* `text.parse(text) -> Parsed`: `.model` (a `FormulaText`, or None), `.mistakes` and `.hints`, each with `line`,
  `column` (from 1) and `message`. It never raises. `text.model_text(text)` raises `FormulaError` instead.
* `records.FormulaText`: `.terms` (one per potential: `.what`, `.expression`, `.similarity`, `.place`, `.quantities`,
  `.parameters`), `.price`, `.title`, `.parameters` (records as every model's), `.text` (canonical; parses to an equal
  record).
* `build.model_of(text) -> Model`; `build.parts(formula, pair, values, summands=True)`: potentials by summand.
* `quantities.QUANTITIES`: name, order, label, tip, unit, `.written` (the names in a formula); `expression.FUNCTIONS`.
* `typeset.latex(formula)`, `typeset.term_latex(term)` for st.latex; `typeset.curve(term, over, values)`.
* `ready.READY[key]`: the text of a ready model; `split.as_formula(recipe)`: the same run as a formula ("start from C").
* `features.explain.separation.separations(recipe, pair)`: does it tell right from wrong?
* `link.packed(text)`, `link.unpacked(word)`: as one word of a link; `toml_file.read(data)`, `toml_file.write(formula)`.
'''
