/**
 * Where a spreadsheet would begin to read a formula: at the beginning of a cell, and of what it takes for one where it
 * splits at another separator than ours or does not see our quotes. Blanks before it do not stop it, and it takes the wide
 * forms of these characters for the same (OWASP, CSV injection).
 */
const formula = String.raw`(?<=^|[;\t\r\n])%(?='*[^\S\t\r\n]*[=+\-@＝＋－＠])|^%(?='*[\t\r\n])`

const places = new RegExp(formula.replaceAll('%', ''), 'g')
const marks = new RegExp(formula.replaceAll('%', "'"), 'g')

/**
 * A text as a cell that no spreadsheet runs: a quote, which makes a text of it, before whatever would begin a formula.
 * Quotes that stand there already are part of the text, and one more is put before them: so each text has its own cell.
 */
export function guardFormula(text: string): string {
  return text.replace(places, "'")
}

/** The text of a cell that `guardFormula` wrote: without those quotes. */
export function unguardFormula(cell: string): string {
  return cell.includes("'") ? cell.replace(marks, '') : cell
}
