import { spyOn } from 'bun:test'
import { Connection } from '../../../db/postgres/client/connection'

/** A statement as sent, with the parameter types from the client. */
export interface SentStatement {
  readonly text: string
  readonly types: readonly string[]
}

const isPlannable = (text: string) => /^(select|insert|update|delete|with)\b/i.test(text)

export interface Sent {
  /** Statements that PostgreSQL can plan. One sent text may contain several statements. */
  readonly statements: readonly SentStatement[]
  readonly texts: readonly string[]
}

/** Runs `work` and records the statements that are sent during it. */
export async function statementsSent(work: () => Promise<void>): Promise<Sent> {
  const sent = new Map<string, SentStatement>()
  const texts = new Set<string>()
  const { run, send } = Connection.prototype
  const prepared = 'SELECT parameter_types::text[]::text FROM pg_prepared_statements WHERE statement = $1'
  const note = (text: string, types: string) => {
    const statement = { text, types: types.slice(1, -1).split(',').filter(Boolean).map(unquoted) }
    if (isPlannable(text)) sent.set(JSON.stringify(statement), statement)
  }
  const spies = [
    spyOn(Connection.prototype, 'run').mockImplementation(async function (this: Connection, text, params) {
      texts.add(text)
      const rows = await run.call(this, text, params)
      const found = await run.call(this, prepared, [text])
      // The driver does not prepare statements without parameters.
      if (found.length === 0) note(text, '{}')
      for (const [types] of found) note(text, `${types}`)
      return rows
    }),
    spyOn(Connection.prototype, 'send').mockImplementation(function (this: Connection, text) {
      texts.add(text)
      for (const one of text.split(';')) note(one.trim(), '{}')
      return send.call(this, text)
    }),
  ]
  try {
    await work()
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
  return { statements: [...sent.values()], texts: [...texts] }
}

const unquoted = (word: string) => word.replaceAll('"', '')
