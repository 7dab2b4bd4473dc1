/** Splits a text into words: words`a b c` is ['a', 'b', 'c']. */
export const words = (text: TemplateStringsArray) => text.join('').trim().split(/\s+/)
