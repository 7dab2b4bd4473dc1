// Part of `npm run lint`: counts words that CONTRIBUTING.md asks to avoid, and fails above the limits below. `--list` prints
// each place.
import { Glob } from 'bun'
import * as ts from 'typescript-5'

interface Passage {
  readonly file: string
  readonly line: number
  readonly text: string
}

/** At most this many in 1,000 words. */
const maxPerThousand = 0.5
const words: Record<string, RegExp> = {
  'told, tells': /\b(told|tells?|telling)\b/gi,
  'whoever, whatever, whichever': /\b(whoever|whatever|whichever)\b/gi,
  'nobody, somebody': /\b(nobody|somebody)\b/gi,
  'of whom, by which, in whose': /\b(of|by|in|to|for|from|with) (whom|whose)\b|\b(by|of) which\b/gi,
  beside: /\bbeside\b/gi,
  'anew, mended': /\b(anew|mend(s|ed|ing)?)\b/gi,
}

/** Comments that begin with one of these, at most 2 in 100. */
const nounless = /^(What|Whether|Who|Whose|Those|Of)\b/
const maxNounlessShare = 0.02
const maxCommentLines = 2200

const read = (file: string) => Bun.file(file).text()
const files = async (...patterns: string[]) => {
  const found = await Promise.all(patterns.map((one) => Array.fromAsync(new Glob(one).scan({ dot: true }))))
  return found.flat().filter((file) => !file.includes('node_modules'))
}

/** The comments of a TypeScript or JavaScript file; line comments on adjacent lines are one. */
const commentsOf = (file: string, source: ts.SourceFile): Passage[] => {
  const ranges = new Map<number, ts.CommentRange>()
  const visit = (node: ts.Node) => {
    const inTrivia = [
      ...(ts.getLeadingCommentRanges(source.text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(source.text, node.getEnd()) ?? []),
    ]
    for (const range of inTrivia) ranges.set(range.pos, range)
    for (const child of node.getChildren(source)) visit(child)
  }
  visit(source)

  const comments: Passage[] = []
  let previousLine = -2
  for (const { pos, end, kind } of [...ranges.values()].sort((one, other) => one.pos - other.pos)) {
    const line = source.getLineAndCharacterOfPosition(pos).line + 1
    const text = source.text
      .slice(pos, end)
      .replace(/^\/\*+|\*+\/$|^\/\/+/g, '')
      .replace(/^\s*\* ?/gm, '')
      .trim()
    const last = comments.at(-1)
    const goesOn = kind === ts.SyntaxKind.SingleLineCommentTrivia && line === previousLine + 1
    if (goesOn && last !== undefined)
      comments[comments.length - 1] = { ...last, text: `${last.text} ${text}` }
    else comments.push({ file, line, text })
    previousLine = kind === ts.SyntaxKind.SingleLineCommentTrivia ? line : -2
  }
  return comments
}

/** The quoted texts of at least two words: only test titles if `titles`, else all. */
const stringsOf = (file: string, source: ts.SourceFile, titles: boolean): Passage[] => {
  const strings: Passage[] = []
  const add = (node: ts.Node) => {
    const text = node.getText(source).slice(1, -1)
    if (/\w \w/.test(text)) {
      strings.push({ file, line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1, text })
    }
  }
  const isText = (node: ts.Node) => ts.isStringLiteral(node) || ts.isTemplateLiteral(node)
  const visit = (node: ts.Node) => {
    if (!titles && isText(node)) add(node)
    if (titles && ts.isCallExpression(node) && /^(test|it|describe)/.test(node.expression.getText(source))) {
      const [title] = node.arguments
      if (title !== undefined && isText(title)) add(title)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return strings
}

const comments: Passage[] = []
const messages: Passage[] = []
const titles: Passage[] = []
for (const file of await files('{src,db,deploy,packages,test}/**/*.{ts,mjs}')) {
  const source = ts.createSourceFile(file, await read(file), ts.ScriptTarget.Latest, true)
  comments.push(...commentsOf(file, source))
  if (/^(src|db|packages)\//.test(file)) messages.push(...stringsOf(file, source, false))
  if (file.endsWith('.test.ts')) titles.push(...stringsOf(file, source, true))
}
const scripts = ['.ci/run', 'deploy/**/*.{conf,cfg,service,timer,yml}', 'deploy/Dockerfile', 'test/**/*.sh']
for (const file of await files(...scripts)) {
  for (const [index, text] of (await read(file)).split('\n').entries()) {
    if (/^\s*# /.test(text)) comments.push({ file, line: index + 1, text: text.replace(/^\s*# /, '') })
  }
}
const pages: Passage[] = []
for (const file of await files('*.md', 'docs/*.md', 'packages/**/*.md')) {
  for (const [index, text] of (await read(file)).split('\n').entries())
    pages.push({ file, line: index + 1, text })
}

const list = process.argv.includes('--list')
const show = ({ file, line, text }: Passage) => {
  if (list) console.log(`${file}:${line}: ${text.replaceAll('\n', ' ').slice(0, 160)}`)
}

let failed = false
const report = (what: string, figure: number, most: number) => {
  const over = figure > most
  failed ||= over
  console.log(`${over ? 'OVER' : 'ok'}\t${figure.toFixed(2)}\tof ${most}\t${what}`)
}

for (const [kind, passages] of Object.entries({ comments, pages, messages, titles })) {
  const thousands = passages.reduce((sum, { text }) => sum + text.split(/\s+/).length, 0) / 1000
  for (const [name, pattern] of Object.entries(words)) {
    const hits = passages.flatMap((passage) => [...passage.text.matchAll(pattern)].map(() => passage))
    for (const hit of hits) show(hit)
    report(`${kind}: ${name} in 1,000 words`, hits.length / thousands, maxPerThousand)
  }
}
const begin = comments.filter(({ text }) => nounless.test(text))
for (const comment of begin) show(comment)
report(
  'comments that begin with What, Whether, Who, Whose, Those, Of',
  begin.length / comments.length,
  maxNounlessShare,
)

let commentLines = 0
for (const file of await files('src/**/*.ts')) {
  commentLines += (await read(file)).split('\n').filter((line) => /^\s*(\/\/|\/?\*)/.test(line)).length
}
report('lines of comments in src', commentLines, maxCommentLines)
process.exitCode = failed ? 1 : 0
