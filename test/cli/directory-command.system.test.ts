import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { provider, region } from '../support/builders'
import { Operator } from '../support/operator'

const directory = { regions: [region()], providers: [provider('on-1'), provider('on-2')] }

describe('cli: the directory commands', () => {
  const operator = new Operator()
  const place = (name: string) => join(operator.folder.path, name)
  const write = (name: string, content: string | Uint8Array) => {
    mkdirSync(dirname(place(name)), { recursive: true })
    writeFileSync(place(name), content)
    return place(name)
  }
  const writeJson = (name: string, content: unknown) => write(name, JSON.stringify(content))

  beforeAll(async () => {
    await operator.do('init')
    await operator.do('directory', 'load', writeJson('directory.json', directory))
  })

  afterAll(() => operator[Symbol.dispose]())

  test('directory check prints how many regions and providers a file has, and changes nothing', async () => {
    const more = writeJson('more.json', {
      ...directory,
      providers: [...directory.providers, provider('on-3')],
    })
    expect(await operator.do('directory', 'check', more)).toBe('OK: 1 region, 3 providers.\n')
    expect(await operator.ask('directory', 'check', more)).toEqual({
      ok: true,
      regions: 1,
      providers: 3,
      faults: [],
      database: operator.database,
    })
    expect(await operator.ask('provider', 'list')).toHaveLength(2)
  })

  test('directory check and directory load list every fault with its position in the file, and load changes nothing', async () => {
    const faulty = writeJson('faulty.json', {
      regions: [region()],
      providers: [provider('on-1', { timeZone: 'Mars/One' }), provider('on-1')],
    })
    const refused = {
      code: 5,
      signal: null,
      stdout: '',
      stderr:
        'error: 2 faults in the files, so nothing can be loaded\n' +
        '  providers[1].ref: "on-1": another provider has this ref\n' +
        '  providers[0].timeZone: "Mars/One" must be an IANA time zone\n',
    }
    expect(await operator.run(['directory', 'check', faulty])).toEqual(refused)
    expect(await operator.run(['directory', 'load', faulty, '--yes'])).toEqual(refused)
    const asJson = await operator.run(['directory', 'check', faulty, '--json'])
    expect({ ...asJson, stdout: JSON.parse(asJson.stdout) }).toEqual({
      code: 5,
      signal: null,
      stdout: {
        ok: false,
        faults: [
          { place: 'providers[1].ref', fault: 'another provider has this ref', value: 'on-1' },
          { place: 'providers[0].timeZone', fault: 'must be an IANA time zone', value: 'Mars/One' },
        ],
      },
      stderr: '',
    })
  })

  test('directory check works without a database, and reports that there is no database', async () => {
    const alone = `The files were checked without a database: there is no database ${place('none.sqlite')}`
    const [json, csv] = [
      writeJson('alone.json', directory),
      write('alone.csv', 'Ref;Region;From;;\non-7;CA-ON;2020-01-01;;\n'),
    ]
    const elsewhere = ['--database', place('none.sqlite')]
    expect(await operator.do('directory', 'check', json, ...elsewhere)).toBe(
      `OK: 1 region, 2 providers.\n${alone}.\n`,
    )
    expect(await operator.do('directory', 'check', csv, ...elsewhere)).toBe(
      `OK: 1 license.\n${alone}. Regions and providers that are not in the files are assumed to exist.\n`,
    )
    expect(await operator.ask('directory', 'check', csv, ...elsewhere)).toEqual({
      ok: true,
      licenses: 1,
      faults: [],
      database: null,
    })
    const { code, stderr } = await operator.run(['directory', 'check', csv])
    expect({ code, stderr }).toEqual({
      code: 5,
      stderr:
        'error: 1 fault in the files, so nothing can be loaded\n  alone.csv line 2, ref: "on-7" is not a known provider\n',
    })
    expect(existsSync(place('none.sqlite'))).toBe(false)
  })

  test.each([
    ['none.json', null, 'there is no such file'],
    ['empty.json', '', 'the file is empty'],
    ['half.json', '{"regions"', 'the file is not JSON'],
    ['latin.json', new Uint8Array([0x22, 0xe9, 0x22]), 'the file is not UTF-8'],
    ['none.csv', null, 'there is no such file'],
    ['empty.csv', '', 'is empty: a header row is required'],
  ])('directory check refuses %s with a reason', async (name, content, fault) => {
    if (content !== null) write(name, content)
    const { code, stderr } = await operator.run(['directory', 'check', place(name)])
    expect(code).toBe(5)
    expect(stderr).toContain(`${name}: ${fault}`)
  })

  test('directory check refuses a folder without CSV files, and JSON together with CSV', async () => {
    mkdirSync(place('nothing'))
    expect(await operator.run(['directory', 'check', place('nothing')])).toMatchObject({ code: 5 })
    const both = ['directory', 'check', place('directory.json'), place('empty.csv')]
    expect(await operator.run(both)).toMatchObject({
      code: 5,
      stderr: 'error: give one JSON file, or only CSV files (.csv, .tsv or .txt)\n',
    })
  })

  test('directory load shows each changed field in a dry run, and asks for confirmation before it removes anything', async () => {
    const other = writeJson('other.json', {
      ...directory,
      providers: [provider('on-1', { firstName: 'Tobin', licenses: [] }), provider('on-3')],
    })
    const plan =
      'CHANGE         COUNT       WHICH\n' +
      'to add         1 provider  on-3\n' +
      'to change      1 provider  on-1\n' +
      'to deactivate  1 provider  on-2\n' +
      'Unchanged: 1.\n' +
      'To remove: 1 license of 1 provider.\n' +
      'on-1: first name changed, licenses -1\n' +
      'on-2: deactivated\n'
    const dryRun = 'Nothing was changed: this was a dry run.\n'
    expect(await operator.do('directory', 'load', other, '--dry-run')).toBe(plan + dryRun)
    // The plan is printed before the question.
    expect(await operator.run(['directory', 'load', other])).toEqual({
      code: 2,
      signal: null,
      stdout: plan,
      stderr: 'error: there is no terminal to ask on\nTry: use --yes\n',
    })
    expect(await operator.ask('directory', 'load', other, '--dry-run')).toEqual({
      dryRun: true,
      added: ['on-3'],
      changed: ['on-1'],
      deactivated: ['on-2'],
      unchanged: 1,
      reactivated: [],
      losses: [{ field: 'licenses', count: 1, providers: 1 }],
      emptied: [],
      staySuspended: [],
      stayAway: [],
      fallen: [],
      changes: [
        {
          noun: 'provider',
          ref: 'on-1',
          kind: 'changed',
          fields: [
            { field: 'firstName', from: 'Marlow', to: 'Tobin' },
            {
              field: 'licenses',
              removed: [{ region: 'CA-ON', from: '2020-01-01', until: null }],
              added: [],
              lost: 1,
            },
          ],
        },
        { noun: 'provider', ref: 'on-3', kind: 'added', fields: [] },
        {
          noun: 'provider',
          ref: 'on-2',
          kind: 'deactivated',
          fields: [{ field: 'active', from: true, to: false }],
        },
      ],
    })
  })

  test('directory load refuses more changes than --max-changes, even with --yes, and a dry run still shows the plan', async () => {
    const refused = {
      code: 4,
      signal: null,
      stdout: '',
      stderr:
        'error: the files change 3 regions and providers, more than the limit of 1 (50% of 3), ' +
        'so nothing was changed\n',
    }
    const load = ['directory', 'load', place('other.json'), '--max-changes']
    expect(await operator.run([...load, '50%', '--yes'])).toEqual(refused)
    const planned = await operator.run([...load, '50%', '--dry-run'])
    expect({ ...planned, stdout: planned.stdout.split('\n').length }).toEqual({ ...refused, stdout: 10 })
    expect(await operator.run([...load, '101%'])).toMatchObject({ code: 2, stdout: '' })
    expect(await operator.ask(...load, '100%', '--yes')).toMatchObject({ added: ['on-3'] })
    expect(await operator.do(...load, '0')).toBe(
      'Nothing to change: 4 regions and providers match the files.\n',
    )
  })

  test('directory load of an exported directory, as JSON or CSV, changes nothing', async () => {
    const nothing = 'Nothing to change: 4 regions and providers match the files.\n'
    const exported = write('exported.json', await operator.do('directory', 'export'))
    expect(await operator.do('directory', 'load', exported)).toBe(nothing)
    await operator.do('directory', 'export', '--format', 'csv', '--to', place('tables'))
    expect(await operator.do('directory', 'load', place('tables'))).toBe(nothing)
    const licenses = await operator.do('directory', 'export', '--table', 'licenses')
    expect(licenses).toBe(readFileSync(place('tables/licenses.csv'), 'utf8'))
    expect(licenses).toStartWith('ref,region,from,until\r\non-2,CA-ON,2020-01-01,\r\n')
  })

  test('directory load of a single CSV table replaces only the contents of that table', async () => {
    const licenses = write('licenses.csv', 'ref,region,from\non-1,CA-ON,2021-01-01\non-3,CA-ON,2020-01-01\n')
    await operator.do('directory', 'load', licenses, '--yes')
    const providers = await operator.ask<{ ref: string; licenses: unknown[]; workingHours: unknown[] }[]>(
      'provider',
      'list',
    )
    expect(providers.map(({ ref, licenses, workingHours }) => [ref, licenses, workingHours.length])).toEqual([
      ['on-1', [{ region: 'CA-ON', from: '2021-01-01', until: null }], 1],
      ['on-2', [], 1],
      ['on-3', [{ region: 'CA-ON', from: '2020-01-01', until: null }], 1],
    ])
  })

  test('directory load of a table with only a header row warns and asks for confirmation, and suspended providers stay suspended', async () => {
    await operator.do('provider', 'deactivate', 'on-1', '--yes')
    const none = write('none/licenses.csv', 'ref,region,from\n')
    const warning =
      'anteroom: warning: with these files, no provider has a license, so no provider can be found or booked\n'
    await operator.do('provider', 'away', 'on-3', '2099-01-01', '2099-01-02')
    const away = 'Absences entered by staff that stay: on-3 from 2099-01-01 until 2099-01-02.\n'
    const stays = `Active in the files, but still suspended by staff: on-1.\n${away}`
    const losses = '2 licenses of 2 providers.\non-1: licenses -1\non-3: licenses -1\n'
    expect(await operator.run(['directory', 'load', none])).toEqual({
      code: 2,
      signal: null,
      stdout: `CHANGE     COUNT        WHICH\nto change  2 providers  on-1, on-3\nUnchanged: 2.\nTo remove: ${losses}${stays}`,
      stderr: `${warning}error: there is no terminal to ask on\nTry: use --yes\n`,
    })
    expect(await operator.run(['directory', 'load', none, '--yes'])).toEqual({
      code: 0,
      signal: null,
      stdout: `CHANGE   COUNT        WHICH\nchanged  2 providers  on-1, on-3\nUnchanged: 2.\nRemoved: ${losses}${stays}`,
      stderr: warning,
    })
    expect(await operator.do('directory', 'load', none)).toBe(
      `Nothing to change: 4 regions and providers match the files.\n${stays}`,
    )
  })

  test('directory export never overwrites a file without --yes', async () => {
    const args = ['directory', 'export', '--to', place('exported.json')]
    expect(await operator.run(args)).toMatchObject({ code: 2, stdout: '' })
    expect(await operator.do(...args, '--yes')).toBe(`Wrote ${place('exported.json')}.\n`)
    expect(await operator.run(['directory', 'export', '--format', 'csv'])).toMatchObject({
      code: 2,
      stderr: 'error: --format csv needs --to FOLDER, or --table to print one table\n',
    })
  })
})
