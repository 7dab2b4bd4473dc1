import { statSync } from 'node:fs'
import type { Act } from '../../src/domain/audit'
import { conflictAsked, decideSubmission, submitterOf } from '../../src/domain/decisions/submission'
import { Refusal } from '../../src/domain/errors'
import type { Engine } from '../../src/domain/ports/database'
import type { DirectoryFeed } from '../../src/domain/ports/directory-feed'
import type { Store } from '../../src/domain/ports/store'
import { type Decision, linesOf } from '../../src/domain/ports/writes'
import { changesOf } from '../queries/changes'
import { directoryFeed as feedOver } from '../queries/feed'
import type { QuickCheck } from './file/aside'
import { tryCheckpoint } from './file/checkpoint'
import { FileGuard } from './file/guard'
import { readPragma, schemaOf } from './file/head'
import { checkPages, Health } from './file/health'
import { createUpkeep } from './maintenance'
import { type Opening, openDatabase } from './open'
import { type Queries, queriesOn, refuseDuplicate, settingsOf, toRefusal } from './query-engine'
import { Writer } from './writer'

export function sqliteStore(queries: Queries, writer: Writer): Store {
  return {
    async read(work) {
      try {
        return await work(queries)
      } catch (error) {
        throw toRefusal(error)
      }
    },
    // There is one writer at a time, so every change is alone.
    change: (act, ask, decide) =>
      writer.write(() => carryOut(queries, decide(...(ask(queries) as Parameters<typeof decide>)), act)),
    submit: (draft) => submit(queries, writer, draft),
    appendAudit: (entries) => writer.write(() => void queries.audit.append(entries)),
    noteKeyUses: (uses) => writer.write(() => queries.partners.noteUses(uses)),
  }
}

async function submit(
  queries: Queries,
  writer: Writer,
  draft: Parameters<Store['submit']>[0],
): ReturnType<Store['submit']> {
  const { slots, replays, members, changes, audit } = queries
  const answer = await writer.write(() => {
    const { partnerId, externalUserId, slot, retry, submittedAt } = draft
    const member = members.find(partnerId, externalUserId)
    const decision = decideSubmission(draft, {
      since: changes.sinceButTaken(draft.version),
      member,
      emailOwnerId: members.ownerOf(draft.member.email),
      holders: slot ? slots.touching(slot.providerId, slot.startsAt) : [],
      held: slot && member ? slots.heldBy(member.id, submittedAt) : [],
      conflictAt: audit.conflictAt(conflictAsked(draft)),
      kept: retry && replays.find(partnerId, retry),
    })
    return decision === 'stale' ? decision : carryOut(queries, decision, submitterOf(draft))
  })
  // Thrown only now, when its audit line is on disk.
  if (answer instanceof Refusal) throw answer
  return answer
}

/** Writes what was decided, in the same transaction. @throws Refusal if that is the decision */
function carryOut<Answer>(queries: Queries, decision: Decision<Answer>, act: Act | null): Answer {
  if (decision instanceof Refusal) throw decision
  // The last check against double booking is a unique index.
  const { ids } = refuseDuplicate(
    () => queries.records.write(decision.writes),
    () => new Refusal('slot_unavailable', 'the slot is not available'),
  )
  for (const changed of changesOf(decision, ids)) queries.changes.add(changed)
  if (act) queries.audit.append(linesOf(decision, act, ids[0]))
  return decision.answer(ids)
}

/** @param stamp returns a number that changes after each commit @param noteUnread is called with the error of a read */
export function directoryFeed(
  queries: Queries,
  stamp: () => number | null,
  noteUnread: (error: unknown) => void,
): DirectoryFeed {
  const feed = feedOver(async (work, isLarge) => {
    const found = await work(queries)
    // So that other requests are answered during a large reading.
    if (isLarge) await new Promise(setImmediate)
    return found
  })
  return {
    stamp,
    changesSince: (version, after) =>
      feed.changesSince(version, after).catch((error) => {
        noteUnread(error)
        throw toRefusal(error)
      }),
  }
}

/** @param largestGroup the most writes in one transaction, for benchmarks @throws Refusal as openDatabase does */
export function openEngine(opening: Opening, largestGroup?: number): Engine {
  const database = openDatabase(opening)
  const vault = settingsOf(database).openVault(opening.purpose, opening.masterKey)
  const queries = queriesOn(database, vault)
  const guard = new FileGuard(opening.path, () => readPragma(database, 'user_version'))
  const health = new Health(guard)
  const writer = new Writer(database, health, largestGroup)
  let check: QuickCheck | undefined
  let isClosed = false
  const schema = schemaOf(readPragma(database, 'user_version'))
  return {
    store: sqliteStore(queries, writer),
    feed: directoryFeed(
      queries,
      () => writer.stamp,
      (error) => health.noteUnread(error),
    ),
    upkeep: createUpkeep(database, opening, writer, queries),
    watch(tell, isServer) {
      health.tellTo(tell)
      if (isServer) guard.watchContent()
      check ??= checkPages(opening.path, health, tell, isServer)
      return { isReady: () => health.isReady(() => writer.attempt()) }
    },
    measure: () => ({
      queueDepth: writer.depth,
      groupSizes: writer.groupSizes,
      commitMillis: writer.commitMillis,
      failedGroups: writer.failedGroups,
      databaseBytes: bytesOf(opening.path),
      logBytes: bytesOf(`${opening.path}-wal`),
      server: null,
      schema,
    }),
    async close() {
      if (isClosed) return
      isClosed = true
      // Before the last checkpoint, because it reads the log.
      await check?.stop()
      await writer.drain()
      try {
        guard.saveOverwritten()
        // Afterwards the file alone is the database, unless another program has it open.
        tryCheckpoint(database)
      } catch {
        // If there is no room, for example, the log stays next to the file, and the next start reads both.
      }
      // If the file was moved, SQLite leaves a newer file with the name of its log alone.
      database.close()
    },
  }
}

/** The length of a file; 0 if there is none. Not by opening it: closing a descriptor would release SQLite's locks. */
function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
