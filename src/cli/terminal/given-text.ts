import { Refusal } from '../../domain/errors'

/** More than any text that is taken has, in bytes: what goes on behind it need not be read. */
const mostBytes = 64 * 1024

/**
 * A text that a command is given: the word itself, or for `-` what stands on stdin, since words stay in the shell's
 * history and are seen in the list of processes.
 *
 * @throws Refusal field_invalid for what is no text
 */
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
    throw new Refusal('field_invalid', 'what stands on stdin is no text in UTF-8')
  }
}

/** On a terminal one line is enough, and another question can follow. */
export async function askForLine(label: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  // Ctrl-C and Ctrl-D give nothing.
  const line = await terminal.question(`${label}: `).catch(() => '')
  terminal.close()
  return line.trim()
}
