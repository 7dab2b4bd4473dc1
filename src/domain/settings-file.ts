/** A line of a settings file that sets something. */
export interface SettingsLine {
  /** From 1 on. */
  readonly line: number
  readonly name: string
  readonly value: string
}

/**
 * Reads lines of NAME=value as systemd's EnvironmentFile has them (systemd.exec(5)): comments begin with # or ;, a value may
 * stand in quotes, and a backslash at a line's end goes on in the next. What sets nothing is a fault here, since nobody writes
 * it on purpose. Tells the lines, and the faults as texts.
 */
export function readSettingsLines(text: string): { lines: SettingsLine[]; faults: string[] } {
  const lines: SettingsLine[] = []
  const faults: string[] = []
  const fault = (line: number, what: string) => faults.push(`line ${line}: ${what}`)
  for (const { line, text: whole } of joined(text)) {
    if (/^\s*([#;]|$)/.test(whole)) continue
    const [, name, written = ''] = /^\s*([A-Za-z_]\w*)=(.*)$/s.exec(whole) ?? []
    const value = name === undefined ? null : unquoted(written.trim())
    if (name === undefined)
      fault(line, 'is neither NAME=value, without export and without spaces before =, nor a comment')
    else if (value === null)
      fault(line, `${name}: a quotation mark is left open, or something stands behind it`)
    else if (lines.some((each) => each.name === name)) fault(line, `${name}: is set above already`)
    else lines.push({ line, name, value })
  }
  return { lines, faults }
}

/** The lines, those that are continued as one, each with the number that it begins at. */
function joined(text: string): { line: number; text: string }[] {
  const found: { line: number; text: string }[] = []
  let isOpen = false
  for (const [at, row] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const goesOn = /(^|[^\\])(\\\\)*\\$/.test(row) && !/^\s*[#;]/.test(row)
    const part = goesOn ? row.slice(0, -1) : row
    const last = found.at(-1)
    if (isOpen && last) last.text += part
    else found.push({ line: at + 1, text: part })
    isOpen = goesOn
  }
  return found
}

/** A value as the shell's simplest forms have it; null where a quotation mark does not end it. */
function unquoted(written: string): string | null {
  const [mark] = written
  if (mark !== '"' && mark !== "'") return written.replace(/\\(.)/g, '$1')
  const form = mark === '"' ? /^"((?:[^"\\]|\\.)*)"$/s : /^'([^']*)'$/s
  const inside = form.exec(written)?.[1]
  if (inside === undefined) return null
  return mark === '"' ? inside.replace(/\\(["\\$`])/g, '$1') : inside
}
