/** The words of a text, for tables of short values: words`a b c` is ['a', 'b', 'c']. */
export const words = (text: TemplateStringsArray) => text.join('').trim().split(/\s+/)
