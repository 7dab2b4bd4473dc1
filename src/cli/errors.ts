import { dirname, resolve } from 'node:path'
import type { Command, CommanderError } from 'commander'
import { didYouMean } from '../domain/did-you-mean'
import { Refusal } from '../domain/errors'
import { shellWord } from './terminal/output'

/** Subcommands to suggest for an unknown word. The first subcommand that exists in the group is suggested. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  add: ['issue', 'load', 'init'],
  approve: ['accept'],
  cancel: ['decline', 'remove', 'revoke'],
  change: ['rename', 'move', 'rotate'],
  check: ['verify', 'doctor'],
  confirm: ['accept'],
  create: ['add', 'issue', 'init'],
  delete: ['remove', 'erase', 'revoke', 'deactivate'],
  deny: ['decline'],
  disable: ['deactivate'],
  enable: ['reactivate'],
  export: ['backup'],
  forget: ['erase'],
  get: ['show', 'list'],
  import: ['load', 'restore'],
  install: ['init'],
  log: ['audit', 'list'],
  logs: ['audit', 'list'],
  ls: ['list'],
  new: ['add', 'issue', 'init'],
  refuse: ['decline'],
  reject: ['decline'],
  remove: ['erase', 'revoke', 'deactivate'],
  renew: ['rotate'],
  reschedule: ['move'],
  rm: ['remove', 'erase', 'revoke', 'deactivate'],
  run: ['serve'],
  search: ['find', 'list'],
  start: ['serve'],
  suspend: ['deactivate'],
  undo: ['reopen'],
  update: ['rename', 'move', 'rotate'],
  upgrade: ['migrate'],
  view: ['show'],
}

export function errorText(error: unknown, words: readonly string[]): string {
  const { what, hint, usage } = error instanceof Refusal ? ofRefusal(error) : ofSystem(error, words)
  return linesOf({ what, hint, usage })
}

export function usageErrorText({ code, message }: CommanderError, command: Command): string {
  // The message may quote an argument with line breaks.
  return linesOf(
    ofUsage(
      code,
      message
        .replace(/^error: /, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
      command,
    ),
  )
}

interface Described {
  readonly what: string
  readonly hint?: string | null | undefined
  readonly usage?: string | undefined
}

function linesOf({ what, hint, usage }: Described): string {
  const lines = [`error: ${what}`, ...(usage ? [usage] : []), ...(hint ? [`Try: ${hint}`] : [])]
  return lines.join('\n')
}

export function unknownCommand(above: Command, word: string, names: readonly string[]): Refusal {
  const meant = synonyms[word.toLowerCase()]?.find((name) => names.includes(name)) ?? didYouMean(word, names)
  const action = meant === null ? `${pathOf(above)} --help` : `${pathOf(above)} ${meant}`
  return new Refusal('field_invalid', `unknown command '${word.replaceAll(/\s+/g, ' ')}'`, { action })
}

function pathOf(command: Command): string {
  const { parent } = command
  return parent === null ? command.name() : `${pathOf(parent)} ${command.name()}`
}

function ofUsage(code: string, message: string, command: Command): Described {
  const usage = `Usage: ${command.createHelp().commandUsage(command)}`
  const [, named = ''] = /'([^']*)'/.exec(message) ?? []
  switch (code) {
    case 'commander.missingArgument':
      return { what: `missing argument '${named}'`, usage }
    case 'commander.missingMandatoryOptionValue':
      return { what: `missing option '${named}'`, usage }
    case 'commander.optionMissingArgument':
      return { what: `option '${named}' needs a value` }
    case 'commander.excessArguments':
      return { what: 'too many arguments', usage }
    case 'commander.unknownOption': {
      // Drops the value after =, because the value may be personal data.
      const [flag = ''] = named.split('=', 1)
      const flags = ['--help', ...command.options.flatMap(({ long }) => long ?? [])]
      if (flags.includes(flag)) return { what: `option '${flag}' takes no value` }
      return {
        what: `unknown option '${flag}'`,
        hint: didYouMean(flag, flags) ?? `${pathOf(command)} --help`,
      }
    }
    case 'commander.invalidArgument':
      return { what: invalidValueText(message), hint: null }
    default:
      return { what: message }
  }
}

const rejected = [
  /^(option '[^']*') argument '.*' is invalid\. (.*)$/s,
  /^command-argument value '.*' is invalid for (argument '[^']*')\. (.*)$/s,
]

/** Removes the rejected value, because the value may be a token or personal data. Keeps the violated rule. */
function invalidValueText(message: string): string {
  const found = rejected.map((form) => form.exec(message)).find(Boolean)
  const [, name = 'a value', rule = 'is invalid'] = found ?? []
  const plain = rule.replace(/^It /, '').replace(/^Allowed choices are /, 'must be one of ')
  return `${name} ${plain.replace(/\.$/, '')}`
}

function ofRefusal({ fault, action, candidates }: Refusal): Described {
  if (candidates === null) return { what: fault, hint: commandIn(action ?? '') }
  const meant = didYouMean(candidates.word, candidates.known)
  return { what: fault, hint: meant === null ? `anteroom ${candidates.noun} list` : shellWord(meant) }
}

function commandIn(action: string): string {
  return action.replace(/^run (?=anteroom|chmod)/, '').replace(/^try again$/, 'the same command again')
}

const systemFaults: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EEXIST: 'there is already a file or folder at that path',
  ENOTDIR: 'a part of the path is not a folder',
  ENAMETOOLONG: 'the path is too long',
  ELOOP: 'the path contains a loop of symbolic links',
  EISDIR: 'the path is a folder, not a file',
  EACCES: 'permission denied for a file, folder or port',
  EPERM: 'permission denied for a file, folder or port',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EIO: 'the disk failed to read or write',
  EMFILE: 'this process has too many open files',
  ENFILE: 'the machine has too many open files',
  EDQUOT: 'the disk quota of this user is used up',
  EADDRNOTAVAIL: 'the host is not an address of this machine',
  ENOTFOUND: 'unknown host',
}

/** Shows only paths that the operator typed. The error's own message may contain personal data, so it is left out. */
function ofSystem(error: unknown, words: readonly string[]): Described {
  const { code, syscall, address, port, flag = '--port' } = error as Record<string, string | undefined>
  if (code === 'EADDRINUSE') return { what: `port ${port} of ${address} is in use`, hint: `another ${flag}` }
  // Bun reports an unknown host name as EINVAL.
  const meaning = code === 'EINVAL' && syscall === 'listen' ? 'ENOTFOUND' : code
  const known = meaning && systemFaults[meaning]
  if (known) return { what: [givenPath(error, words), known].filter(Boolean).join(': ') }
  const facts = [syscall, error instanceof Error ? error.constructor.name : typeof error, code]
  return {
    what: `unexpected error (${facts.filter(Boolean).join(' ')})`,
    hint: 'a bug report with this line',
  }
}

/** Returns the typed path that caused a file system error, or a typed path in the same folder. */
function givenPath(error: unknown, words: readonly string[]): string | undefined {
  const { path } = error as { path?: unknown }
  if (typeof path !== 'string') return undefined
  const paths = words.filter((word) => word !== '' && !word.startsWith('-'))
  const folderOf = (word: string) => dirname(resolve(word))
  const isSibling = (word: string) => word.includes('/') && [path, dirname(path)].includes(folderOf(word))
  return paths.find((word) => resolve(word) === resolve(path)) ?? paths.findLast(isSibling)
}
