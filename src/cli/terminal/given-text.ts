import { Refusal } from '../../domain/errors'

/** Limit for stdin. It is larger than any text that a command accepts. */
const mostBytes = 64 * 1024

/** For `-`, reads stdin, because process lists and shell history show arguments. @throws Refusal field_invalid */
export async function givenText(word: string): Promise<string> {
  return word === '-' ? readText() : word
}

async function readText(): Promise<string> {
  if (process.stdin.isTTY) return askForLine('Text')
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of Bun.stdin.stream()) {
    chunks.push(chunk)
    length += chunk.length
    if (length > mostBytes) break
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)).trimEnd()
  } catch {
    throw new Refusal('field_invalid', 'stdin: the text is not UTF-8')
  }
}

/** Reads only one line, so that another question can follow. Returns an empty text for Ctrl-C and Ctrl-D. */
export async function askForLine(label: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const line = await terminal.question(`${label}: `).catch(() => '')
  terminal.close()
  return line.trim()
}
