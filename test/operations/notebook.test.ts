import { describe, expect, test } from 'bun:test'
import type { AuditEntry } from '../../src/domain/audit'
import { type Kind, Refusal } from '../../src/domain/errors'
import type { Store } from '../../src/domain/ports/store'
import { Notebook, outsideReason } from '../../src/operations/notebook'
import { nextTurn } from '../support/turns'

const minute = 60_000
const now = Date.UTC(2026, 11, 1, 12)

/** A store that records the writes of a Notebook. `state` can make the store fail or wait. */
function recorder() {
  const lines: AuditEntry[] = []
  const uses: [string, number][][] = []
  const state = {
    fault: null as Refusal | null,
    faultOfUses: null as Refusal | null,
    turn: Promise.resolve(),
  }
  const store: Partial<Store> = {
    async appendAudit(entries) {
      await state.turn
      if (state.fault) throw state.fault
      lines.push(...entries)
    },
    async noteKeyUses(noted) {
      await state.turn
      if (state.fault ?? state.faultOfUses) throw state.fault ?? state.faultOfUses
      uses.push([...noted])
    },
  }
  return { lines, uses, state, store: store as Store }
}

const busy = new Refusal('storage_busy', 'the service is busy; try again')
const line = (actor: string, at = now, outcome: Kind = 'token_invalid') => {
  return { at, actor, action: 'authentication.refuse' as const, record: null, outcome }
}

describe('operations: the notebook', () => {
  test('the notebook writes each refusal and each use of a key once', async () => {
    const { store, lines, uses } = recorder()
    const notebook = new Notebook()
    notebook.noteRefusal('token_invalid', '::1', now)
    notebook.noteUse('kid-1', now + 1)
    await notebook.flush(store)
    await notebook.flush(store)
    expect(lines).toEqual([line('::1')])
    expect(uses).toEqual([[['kid-1', now]]])
  })

  test('the notebook counts repeated refusals, and writes their number when the minute is over', async () => {
    const { store, lines } = recorder()
    const notebook = new Notebook()
    for (const at of [0, 1, 2, 3]) notebook.noteRefusal('token_invalid', '::1', now + at)
    notebook.noteRefusal('token_invalid', '2001:db8::2', now)
    await notebook.flush(store, now + minute - 1)
    expect(lines).toEqual([line('::1'), line('2001:db8::2')])
    const more = { ...line('::1', now + 3), outcome: 'token_invalid, 3 more' }
    await notebook.flush(store, now + minute)
    expect(lines.splice(0)).toEqual([line('::1'), line('2001:db8::2'), more])
    notebook.noteRefusal('token_invalid', '::1', now + minute)
    notebook.noteRefusal('token_invalid', '::1', now + minute)
    notebook.noteRefusal('token_invalid', '::1', now + 3 * minute)
    notebook.noteRefusal('token_invalid', '::1', now + 3 * minute)
    await notebook.flush(store, Number.POSITIVE_INFINITY)
    const one = (at: number) => ({ ...line('::1', at), outcome: 'token_invalid, 1 more' })
    expect(lines).toEqual([
      line('::1', now + minute),
      one(now + minute),
      line('::1', now + 3 * minute),
      one(now + 3 * minute),
    ])
  })

  test('the notebook counts each person refused by the limit of e-mail conflicts once an hour, in two lines for ten seconds', async () => {
    const { store, lines } = recorder()
    const notebook = new Notebook()
    for (const [at, person] of ['m-1', 'm-1', 'm-2', 'm-3'].entries())
      notebook.noteLimited(1, person, now + at)
    for (const person of ['m-2', 'm-4']) notebook.noteLimited(1, person, now + 59 * minute)
    for (const partnerId of [1, 2]) notebook.noteLimited(partnerId, 'm-1', now + 60 * minute)
    await notebook.flush(store, now + 61 * minute)
    const limit = (at: number, more = '', partner = 'partner 1') => ({
      ...{ at: now + at, actor: partner, action: 'partner.email-limit' as const, record: partner },
      outcome: `email_conflicts_limited${more}`,
    })
    expect(lines).toEqual([
      limit(0),
      limit(3, ', 2 more'),
      limit(59 * minute),
      limit(60 * minute),
      limit(60 * minute, '', 'partner 2'),
    ])
  })

  test('look-ups are not counted', async () => {
    const { store, lines } = recorder()
    const notebook = new Notebook()
    for (const at of [0, 1, 60 * minute]) notebook.noteLookUp(1, 2, now + at)
    await notebook.flush(store, Number.POSITIVE_INFINITY)
    expect(lines.map(({ outcome }) => outcome)).toEqual(['done', 'done'])
  })

  test('the notebook keeps its records while the storage is busy, and later writes each record once and in order', async () => {
    const { store, lines, uses, state } = recorder()
    const notebook = new Notebook()
    notebook.noteRefusal('token_invalid', '::1', now)
    notebook.noteUse('kid-1', now)
    state.fault = busy
    await expect(notebook.flush(store)).rejects.toBe(busy)
    await expect(notebook.flush(store)).rejects.toBe(busy)
    notebook.noteRefusal('missing_claim', '2001:db8::2', now + 1)
    state.fault = null
    await notebook.flush(store)
    await notebook.flush(store)
    expect(lines).toEqual([line('::1'), line('2001:db8::2', now + 1, 'missing_claim')])
    expect(uses).toEqual([[['kid-1', now]]])
  })

  test('the notebook retries only the key uses if only their write failed', async () => {
    const { store, lines, uses, state } = recorder()
    const notebook = new Notebook()
    notebook.noteRefusal('token_invalid', '::1', now)
    notebook.noteUse('kid-1', now)
    state.faultOfUses = busy
    await expect(notebook.flush(store)).rejects.toBe(busy)
    state.faultOfUses = null
    await notebook.flush(store)
    expect(lines).toEqual([line('::1')])
    expect(uses).toEqual([[['kid-1', now]]])
  })

  test('two flushes at once write each record once', async () => {
    const { store, lines, uses, state } = recorder()
    const notebook = new Notebook()
    let go = () => {}
    state.turn = new Promise((resolve) => {
      go = resolve
    })
    notebook.noteRefusal('token_invalid', '::1', now)
    notebook.noteUse('kid-1', now)
    const both = [notebook.flush(store), notebook.flush(store)]
    notebook.noteRefusal('token_invalid', '2001:db8::2', now)
    go()
    await Promise.all(both)
    expect(lines).toEqual([line('::1'), line('2001:db8::2')])
    expect(uses).toEqual([[['kid-1', now]]])
  })

  test('a record that is added during a write is written by the next flush', async () => {
    const { store, lines, uses } = recorder()
    const notebook = new Notebook()
    const meanwhile: Store = {
      ...store,
      async appendAudit(entries) {
        notebook.noteRefusal('token_invalid', '2001:db8::2', now)
        await store.appendAudit(entries)
      },
      async noteKeyUses(noted) {
        notebook.noteUse('kid-1', now + minute)
        await store.noteKeyUses(noted)
      },
    }
    notebook.noteRefusal('token_invalid', '::1', now)
    notebook.noteUse('kid-1', now)
    notebook.noteUse('kid-2', now)
    await notebook.flush(meanwhile)
    expect([lines, uses.flat()]).toEqual([
      [line('::1')],
      [
        ['kid-1', now],
        ['kid-2', now],
      ],
    ])
    await notebook.flush(store)
    await notebook.flush(store)
    expect(lines).toEqual([line('::1'), line('2001:db8::2')])
    expect(uses.slice(1)).toEqual([[['kid-1', now + minute]]])
  })

  test('many flushes during a write share one more write', async () => {
    const { lines, state, store } = recorder()
    const notebook = new Notebook()
    const slow = Promise.withResolvers<void>()
    state.turn = slow.promise
    notebook.noteRefusal('token_invalid', '10.0.0.1', now)
    const first = notebook.flush(store)
    await nextTurn()
    const others = Array.from({ length: 100 }, () => notebook.flush(store))
    expect(new Set(others).size).toBe(1)
    notebook.noteRefusal('token_invalid', '10.0.0.2', now)
    slow.resolve()
    await Promise.all([first, ...others])
    expect(lines).toEqual([line('10.0.0.1'), line('10.0.0.2')])
  })
})

async function written(note: (notebook: Notebook) => void): Promise<AuditEntry[]> {
  const { store, lines } = recorder()
  const notebook = new Notebook()
  note(notebook)
  await notebook.flush(store)
  return lines
}

describe('operations: audit lines of the notebook for member look-ups', () => {
  const lookUp = (member: number | null, at = now, partner = 1) => ({
    at,
    actor: `partner ${partner}`,
    action: 'member.look-up' as const,
    record: member === null ? null : `member ${member}`,
    outcome: member ? 'done' : 'done, more members',
  })

  test('repeated look-ups add one line per partner and member in an hour, and another line in the next hour', async () => {
    const { store, lines } = recorder()
    const notebook = new Notebook()
    for (let at = now; at < now + 60 * minute; at += minute) {
      notebook.noteLookUp(1, 7, at)
      notebook.noteLookUp(1, 8, at)
      notebook.noteLookUp(2, 7, at)
      await notebook.flush(store)
    }
    notebook.noteLookUp(1, 7, now + 60 * minute)
    await notebook.flush(store)
    expect(lines).toEqual([lookUp(7), lookUp(8), lookUp(7, now, 2), lookUp(7, now + 60 * minute)])
  })

  test('look-ups of more than 100,000 members in an hour add one more line, and hide no look-up of another partner, even if the storage was busy', async () => {
    const { store, lines, state } = recorder()
    const notebook = new Notebook()
    state.fault = busy
    for (let member = 1; member <= 99_999; member++) notebook.noteLookUp(1, member, now)
    await notebook.flush(store).catch(() => {})
    state.fault = null
    await notebook.flush(store)
    for (let member = 100_000; member <= 100_100; member++) {
      notebook.noteLookUp(1, member, now)
      notebook.noteLookUp(2, member, now)
    }
    await notebook.flush(store)
    expect(lines).toHaveLength(100_001 + 101)
    expect(lines.slice(99_999, 100_002)).toEqual([lookUp(100_000), lookUp(null), lookUp(100_000, now, 2)])
  })

  test('look-ups are written in batches, and no batch is written twice', async () => {
    const { store, lines, state } = recorder()
    const notebook = new Notebook()
    const sizes: number[] = []
    const failing: Store = {
      ...store,
      async appendAudit(entries) {
        if (sizes.length === 2) state.fault = busy
        await store.appendAudit(entries)
        sizes.push(entries.length)
      },
    }
    for (let member = 1; member <= 1_300; member++) notebook.noteLookUp(1, member, now)
    await expect(notebook.flush(failing)).rejects.toBe(busy)
    expect(sizes).toEqual([100, 100])
    state.fault = null
    await notebook.flush(store)
    expect(lines.map(({ record }) => record)).toEqual(
      Array.from({ length: 1_300 }, (_, index) => `member ${index + 1}`),
    )
  })
})

describe('operations: audit lines of the notebook for refused authentications', () => {
  test('the addresses of one IPv6 network share a line, and cannot hide a refusal of a valid token', async () => {
    const { store, lines } = recorder()
    const notebook = new Notebook()
    for (let host = 1; host <= 1_100; host++) notebook.noteRefusal('token_invalid', `2001:db8::${host}`, now)
    for (let host = 0; host < 1_100; host++)
      notebook.noteRefusal('token_invalid', `10.0.${host >> 8}.${host & 255}`, now)
    notebook.noteRefusal(outsideReason, '203.0.113.66', now, 4)
    await notebook.flush(store)
    expect(lines).toHaveLength(1 + 1_001)
    expect(lines[0]).toEqual({ ...line('203.0.113.66'), record: 'partner 4', outcome: outsideReason })
    expect(lines[1]).toEqual(line('2001:db8::1'))
  })

  test('a refusal contains the partner, marked as claimed unless the signature was verified', async () => {
    const lines = await written((notebook) => {
      for (let times = 0; times < 2; times++) {
        notebook.noteRefusal('token_invalid', '::1', now, 3)
        notebook.noteRefusal('token_invalid', '::1', now, 4)
        notebook.noteRefusal('token_invalid', '::1', now)
        notebook.noteRefusal('partner_inactive', '::1', now, 4)
      }
    })
    expect(lines).toEqual([
      { ...line('::1', now, 'partner_inactive'), record: 'partner 4' },
      { ...line('::1'), record: 'partner 3', outcome: 'token_invalid, claimed' },
      { ...line('::1'), record: 'partner 4', outcome: 'token_invalid, claimed' },
      line('::1'),
    ])
  })

  test('repeated refusals add one line per reason and address in a minute, and their number and another line in the next minute', async () => {
    const lines = await written((notebook) => {
      for (let second = 0; second < 60; second++) {
        notebook.noteRefusal('token_invalid', '::1', now + second * 1_000)
        notebook.noteRefusal('missing_claim', '::1', now + second * 1_000)
        notebook.noteRefusal('token_invalid', '2001:db8::2', now + second * 1_000)
      }
      notebook.noteRefusal('token_invalid', '::1', now + minute)
    })
    expect(lines).toEqual([
      line('::1'),
      line('::1', now, 'missing_claim'),
      line('2001:db8::2'),
      { ...line('::1', now + 59_000), outcome: 'token_invalid, 59 more' },
      { ...line('::1', now + 59_000), outcome: 'missing_claim, 59 more' },
      { ...line('2001:db8::2', now + 59_000), outcome: 'token_invalid, 59 more' },
      line('::1', now + minute),
    ])
  })

  test('refusals from more than a thousand addresses in a minute add one more line for each reason', async () => {
    const lines = await written((notebook) => {
      for (let address = 0; address < 5_000; address++) {
        notebook.noteRefusal('token_invalid', `10.0.0.${address}`, now)
        if (address > 2_000) notebook.noteRefusal('partner_not_found', `10.0.0.${address}`, now)
      }
    })
    expect(lines).toEqual([
      ...Array.from({ length: 1_000 }, (_, address) => line(`10.0.0.${address}`)),
      line('other addresses'),
      line('other addresses', now, 'partner_not_found'),
    ])
  })

  test('refusals are listed by address again in the minute after too many addresses', async () => {
    const lines = await written((notebook) => {
      for (let address = 0; address < 1_200; address++)
        notebook.noteRefusal('token_invalid', `${address}`, now)
      notebook.noteRefusal('token_invalid', 'late', now + minute)
    })
    expect(lines).toHaveLength(1_003)
    expect(lines.slice(-3)).toEqual([
      line('other addresses'),
      { ...line('other addresses'), outcome: 'token_invalid, 199 more' },
      line('late', now + minute),
    ])
  })

  test('the notebook keeps at most 10,000 refusals while the storage is busy', async () => {
    const { store, lines, state } = recorder()
    const notebook = new Notebook()
    state.fault = busy
    for (let at = now; at < now + 20 * minute; at += minute) {
      for (let address = 0; address < 900; address++) notebook.noteRefusal('token_invalid', `${address}`, at)
      await notebook.flush(store).catch(() => {})
    }
    state.fault = null
    await notebook.flush(store)
    expect(lines).toHaveLength(10_000)
    expect(lines[0]).toEqual(line('0'))
    notebook.noteRefusal('token_invalid', 'after', now + 30 * minute)
    await notebook.flush(store)
    expect(lines.slice(10_000)).toEqual([line('after', now + 30 * minute)])
  })
})

test('operations: the notebook writes the use of a key at most once a minute', async () => {
  const { store, uses } = recorder()
  const notebook = new Notebook()
  for (const at of [now, now + 1, now + minute - 1, now + minute]) {
    notebook.noteUse('kid-1', at)
    await notebook.flush(store)
  }
  expect(uses).toEqual([[['kid-1', now]], [['kid-1', now + minute]]])
})

describe('operations: addresses in the notebook', () => {
  const day = 24 * 60 * minute
  const use = (outcome: string, at = now, partner = 1) => {
    const name = `partner ${partner}`
    return { at, actor: name, action: 'token.use' as const, record: name, outcome }
  }

  test('a use of a token is kept once for each key, address and UTC day', async () => {
    const { store, lines } = recorder()
    const notebook = new Notebook()
    const midnight = Date.UTC(2026, 11, 2)
    for (const at of [now, now + minute, midnight - 1, midnight])
      notebook.noteAddress('k1', 1, '10.0.0.1', at)
    notebook.noteAddress('k2', 1, '10.0.0.1', midnight)
    notebook.noteAddress('k1', 1, '10.0.0.2', midnight)
    await notebook.flush(store)
    notebook.noteAddress('k1', 1, '10.0.0.1', midnight + 1)
    await notebook.flush(store)
    expect(lines).toEqual([
      use('10.0.0.1, kid k1'),
      use('10.0.0.1, kid k1', midnight),
      use('10.0.0.1, kid k2', midnight),
      use('10.0.0.2, kid k1', midnight),
    ])
  })

  test('IPv6 addresses of one /64 network are one address', async () => {
    const { store, lines } = recorder()
    const notebook = new Notebook()
    for (const end of ['1', '2']) notebook.noteAddress('k1', 1, `2001:db8:0:7::${end}`, now)
    notebook.noteAddress('k1', 1, '2001:db8:0:8::1', now)
    await notebook.flush(store)
    expect(lines).toEqual([use('2001:db8:0:7::/64, kid k1'), use('2001:db8:0:8::/64, kid k1')])
  })

  test('more than 1,000 addresses of a partner in a day get one line, and other partners keep theirs', async () => {
    const { store, lines } = recorder()
    const notebook = new Notebook()
    for (let nth = 0; nth < 12_000; nth++) notebook.noteAddress('k1', 1, `10.1.${nth >> 8}.${nth % 256}`, now)
    notebook.noteAddress('k2', 2, '192.0.2.1', now)
    await notebook.flush(store)
    expect(lines).toHaveLength(1_002)
    expect(lines.slice(999)).toEqual([
      use('10.1.3.231, kid k1'),
      use('more addresses'),
      use('192.0.2.1, kid k2', now, 2),
    ])
    notebook.noteAddress('k1', 1, '10.1.3.232', now + day)
    await notebook.flush(store)
    expect(lines.at(-1)).toEqual(use('10.1.3.232, kid k1', now + day))
  })

  test('a call from outside the networks of a partner is not only claimed', async () => {
    const { store, lines } = recorder()
    const notebook = new Notebook()
    notebook.noteRefusal(outsideReason, '10.0.0.1', now, 3)
    notebook.noteRefusal('token_invalid', '10.0.0.1', now, 3)
    await notebook.flush(store)
    const refused = {
      at: now,
      actor: '10.0.0.1',
      action: 'authentication.refuse' as const,
      record: 'partner 3',
    }
    expect(lines).toEqual([
      { ...refused, outcome: 'token_invalid, outside its networks' },
      { ...refused, outcome: 'token_invalid, claimed' },
    ])
  })
})
