// Part of `npm run lint`. Counts words that CONTRIBUTING.md asks to avoid, and fails if a count exceeds its limit.
// `--list` prints where each word occurs.
import { Glob } from 'bun'
import * as ts from 'typescript-5'

interface Passage {
  readonly file: string
  readonly line: number
  readonly text: string
}

/** The limit for the words of one pattern, in each kind of text. */
const maxPerThousandWords = 0.5
const wordsToAvoid: Record<string, RegExp> = {
  'told, tells': /\b(told|tells?|telling)\b/gi,
  'whoever, whatever, whichever': /\b(whoever|whatever|whichever)\b/gi,
  'nobody, somebody': /\b(nobody|somebody)\b/gi,
  'of whom, by which, in whose': /\b(of|by|in|to|for|from|with) (whom|whose)\b|\b(by|of) which\b/gi,
  beside: /\bbeside\b/gi,
  'anew, mended': /\b(anew|mend(s|ed|ing)?)\b/gi,
}
const openingToAvoid = /^(What|Whether|Who|Whose|Those|Of)\b/
const maxShareOfOpenings = 0.02
const maxCommentLinesInSrc = 2200

const isText = (node: ts.Node) => ts.isStringLiteral(node) || ts.isTemplateLiteral(node)
const isTestCall = (node: ts.Node): node is ts.CallExpression =>
  ts.isCallExpression(node) && /^(test|it|describe)/.test(node.expression.getText())

function passageOf(node: ts.Node): Passage {
  const source = node.getSourceFile()
  const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1
  return { file: source.fileName, line, text: node.getText().slice(1, -1) }
}

/** Line comments on adjacent lines are one comment. */
function commentsOf(source: ts.SourceFile): Passage[] {
  const ranges = new Map<number, ts.CommentRange>()
  const visit = (node: ts.Node) => {
    const leading = ts.getLeadingCommentRanges(source.text, node.getFullStart()) ?? []
    const trailing = ts.getTrailingCommentRanges(source.text, node.getEnd()) ?? []
    for (const range of [...leading, ...trailing]) ranges.set(range.pos, range)
    for (const child of node.getChildren()) visit(child)
  }
  visit(source)

  const comments: Passage[] = []
  let lineAbove = -2
  for (const { pos, end, kind } of [...ranges.values()].sort((one, other) => one.pos - other.pos)) {
    const line = source.getLineAndCharacterOfPosition(pos).line + 1
    const text = source.text
      .slice(pos, end)
      .replace(/^\/\*+|\*+\/$|^\/\/+/g, '')
      .replace(/^\s*\* ?/gm, '')
      .trim()
    const isLineComment = kind === ts.SyntaxKind.SingleLineCommentTrivia
    const above = isLineComment && line === lineAbove + 1 ? comments.pop() : undefined
    comments.push(above ? { ...above, text: `${above.text} ${text}` } : { file: source.fileName, line, text })
    lineAbove = isLineComment ? line : -2
  }
  return comments
}

/** Quoted texts of at least two words. */
function messagesOf(source: ts.SourceFile): Passage[] {
  const texts: Passage[] = []
  const visit = (node: ts.Node) => {
    if (isText(node) && /\w \w/.test(node.getText())) texts.push(passageOf(node))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return texts
}

function titlesOf(source: ts.SourceFile): Passage[] {
  const titles: Passage[] = []
  const visit = (node: ts.Node) => {
    const title = isTestCall(node) && node.arguments[0]
    if (title && isText(title)) titles.push(passageOf(title))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return titles
}

/** The top-level titles of a test file that do not begin with the name of its folder. */
function titlesWithoutFolder(source: ts.SourceFile): Passage[] {
  const folder = source.fileName.split('/').at(-2)
  const prefix = folder === 'test' ? /^[\w-]+: / : new RegExp(`^${folder}: `)
  const calls = source.statements
    .map((statement) => ts.isExpressionStatement(statement) && statement.expression)
    .filter((call) => call && isTestCall(call))
  const titles = calls.map((call) => (call as ts.CallExpression).arguments[0])
  return titles
    .flatMap((title) => (title && isText(title) ? [passageOf(title)] : []))
    .filter(({ text }) => !prefix.test(text))
}

function filesOf(...patterns: string[]): string[] {
  const files = patterns.flatMap((pattern) => [...new Glob(pattern).scanSync({ dot: true })])
  return files.filter((file) => !file.includes('node_modules'))
}

async function linesOf(files: readonly string[]): Promise<Passage[]> {
  const texts = await Promise.all(files.map(async (file) => [file, await Bun.file(file).text()] as const))
  return texts.flatMap(([file, all]) =>
    all.split('\n').map((text, index) => ({ file, line: index + 1, text })),
  )
}

const sources = await Promise.all(
  filesOf('{src,db,deploy,packages,test}/**/*.{ts,mjs}').map(async (file) =>
    ts.createSourceFile(file, await Bun.file(file).text(), ts.ScriptTarget.Latest, true),
  ),
)
const scripts = ['.ci/run', 'deploy/**/*.{conf,cfg,service,timer,yml}', 'deploy/Dockerfile', 'test/**/*.sh']
const inScripts = (await linesOf(filesOf(...scripts))).filter(({ text }) => /^\s*# /.test(text))
const comments = [
  ...sources.flatMap(commentsOf),
  ...inScripts.map((line) => ({ ...line, text: line.text.replace(/^\s*# /, '') })),
]
const tests = sources.filter(({ fileName }) => fileName.endsWith('.test.ts'))
const kinds = {
  comments,
  pages: await linesOf(filesOf('*.md', 'docs/*.md', 'packages/**/*.md')),
  messages: sources.filter(({ fileName }) => /^(src|db|packages)\//.test(fileName)).flatMap(messagesOf),
  titles: tests.flatMap(titlesOf),
}

const isListing = process.argv.includes('--list')
let hasFailed = false
function report(meaning: string, figure: number, max: number, places: readonly Passage[]) {
  hasFailed ||= figure > max
  console.log(`${figure > max ? 'OVER' : 'ok'}\t${Number(figure.toFixed(3))}\tof ${max}\t${meaning}`)
  if (!isListing) return
  for (const { file, line, text } of places) {
    console.log(`${file}:${line}: ${text.replaceAll('\n', ' ').slice(0, 160)}`)
  }
}

for (const [kind, passages] of Object.entries(kinds)) {
  const thousands = passages.reduce((sum, { text }) => sum + text.split(/\s+/).length, 0) / 1000
  for (const [words, pattern] of Object.entries(wordsToAvoid)) {
    const places = passages.flatMap((passage) => [...passage.text.matchAll(pattern)].map(() => passage))
    report(`"${words}" in 1,000 words of ${kind}`, places.length / thousands, maxPerThousandWords, places)
  }
}
const openings = comments.filter(({ text }) => openingToAvoid.test(text))
report(
  'share of comments that begin with What, Whether, Who, Whose, Those, Of',
  openings.length / comments.length,
  maxShareOfOpenings,
  openings,
)
const unplaced = tests.flatMap(titlesWithoutFolder)
report('titles at the top of a test file without its folder', unplaced.length, 0, unplaced)
const commentLines = (await linesOf(filesOf('src/**/*.ts'))).filter(({ text }) =>
  /^\s*(\/\/|\/?\*)/.test(text),
)
report('comment lines in src', commentLines.length, maxCommentLinesInSrc, [])
process.exitCode = hasFailed ? 1 : 0
