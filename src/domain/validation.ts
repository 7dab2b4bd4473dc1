import {
  Kind,
  type SchemaOptions,
  type Static,
  type TSchema,
  type TUnsafe,
  Type,
  TypeRegistry,
} from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler, type ValueError, ValueErrorType } from '@sinclair/typebox/compiler'
import { parseDate, parseInstant, parseTimeOfDay } from '../scheduling/calendar'
import { isLanguageTag, languageTagPattern } from './language'
import { emailPattern, isEmail, isPhoneNumber, phoneNumberPattern } from './member'
import { absenceForm } from './provider'
import { countryCodePattern, isCountryCode } from './region'

/** A fault of a document, with its path, such as `providers[12].workingHours[0].end`. */
export interface Fault {
  readonly path: string
  readonly fault: string
}

interface TextOptions extends SchemaOptions {
  /** An explicit 0 also accepts an empty text in place of one with the format. */
  readonly minLength?: number
  readonly maxLength?: number
  readonly format?: FormatName
}

const textKind = 'Text'

/**
 * Returns a schema for texts. Lengths count characters (JSON Schema), not UTF-16 units (TypeBox). Rejects NUL and lone
 * surrogates, because SQLite and UTF-8 cannot store them. The pattern is used only in the OpenAPI document.
 */
export function Text(options: TextOptions = {}): TUnsafe<string> {
  const format: Format | undefined = options.format && formats[options.format]
  const formatted = options.minLength === 0 ? `^$|${format?.pattern}` : format?.pattern
  const pattern = format ? formatted : '^[^\\x00]*$'
  return Type.Unsafe<string>({ ...(pattern && { pattern }), ...options, [Kind]: textKind, type: 'string' })
}

const choiceKind = 'Choice'

export function Choice<const Words extends readonly string[]>(words: Words, options: SchemaOptions = {}) {
  return Type.Unsafe<Words[number]>({ ...options, [Kind]: choiceKind, type: 'string', enum: [...words] })
}

TypeRegistry.Set<TextOptions>(textKind, (options, value) => textFault(options, value) === null)
TypeRegistry.Set<{ enum: string[] }>(choiceKind, ({ enum: words }, value) => words.includes(value as string))

function textFault({ minLength, maxLength = Infinity, format }: TextOptions, value: unknown) {
  if (typeof value !== 'string') return 'must be a string'
  if (!value.isWellFormed() || value.includes('\0')) return 'must not contain NUL or an unpaired surrogate'
  if (value === '' && minLength !== undefined) return minLength > 0 ? 'must not be empty' : null
  // A character takes one or two UTF-16 units, so most texts need no counting.
  if (value.length > 2 * maxLength || (value.length > maxLength && [...value].length > maxLength))
    return `must have at most ${maxLength} characters`
  if (format === undefined) return null
  return formats[format].isValid(value) ? null : formats[format].fault
}

export interface Validator<T extends TSchema> {
  readonly schema: T
  accepts(value: unknown): value is Static<T>
  /** Returns at most `most` faults. Returns an empty list for a valid value. */
  faultsOf(value: unknown, most?: number): Fault[]
}

/** Returns a validator. Compiles the schema on first use, because most commands never use the schema. */
export function validator<T extends TSchema>(schema: T): Validator<T> {
  let compiled: TypeCheck<T> | undefined
  const check = () => {
    compiled ??= TypeCompiler.Compile(schema)
    return compiled
  }
  return {
    schema,
    accepts: (value): value is Static<T> => check().Check(value),
    faultsOf: (value, most = Infinity) => faultsFrom(check().Errors(value), most),
  }
}

/** Translates TypeBox's errors. Keeps only the first fault of each path, because later faults follow from the first. */
function faultsFrom(errors: Iterable<ValueError>, most: number): Fault[] {
  const faults = new Map<string, string>()
  for (const error of errors) {
    const path = toPath(error.path)
    if (!faults.has(path)) faults.set(path, faultOf(error))
    // Stop here: an array that is too long may have any number of faults inside.
    if (faults.size >= most || error.type === ValueErrorType.ArrayMaxItems) break
  }
  return Array.from(faults, ([path, fault]) => ({ path, fault }))
}

/** Converts a JSON pointer: `/providers/12/ref` becomes `providers[12].ref`. */
function toPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path ? `${path}.${part}` : part), '')
}

function faultOf({ type, schema, value, errors }: ValueError): string {
  if (value === undefined) return 'is required'
  if (type === ValueErrorType.Kind && schema[Kind] !== choiceKind) return textFault(schema, value) ?? notValid
  // Every union here is `T | null`, so report only the fault of `T`.
  if (type === ValueErrorType.Union) return faultsFrom(errors.at(-1) ?? [], 1)[0]?.fault ?? notValid
  return faultsByType[type]?.(schema) ?? notValid
}

const notValid = 'is not valid'

const faultsByType: Partial<Record<ValueErrorType, (schema: TSchema) => string>> = {
  [ValueErrorType.Kind]: (choice) => `must be one of ${choice.enum.join(', ')}`,
  [ValueErrorType.Object]: () => 'must be an object',
  [ValueErrorType.Array]: () => 'must be an array',
  [ValueErrorType.Boolean]: () => 'must be true or false',
  [ValueErrorType.Integer]: () => 'must be an integer',
  [ValueErrorType.IntegerMinimum]: ({ minimum }) => `must be at least ${minimum}`,
  [ValueErrorType.IntegerMaximum]: ({ maximum }) => `must be at most ${maximum}`,
  [ValueErrorType.ArrayMinItems]: ({ minItems }) =>
    `must have at least ${minItems} ${minItems === 1 ? 'element' : 'elements'}`,
  [ValueErrorType.ArrayMaxItems]: ({ maxItems }) => `must have at most ${maxItems} elements`,
  [ValueErrorType.ArrayUniqueItems]: () => 'must not contain duplicates',
  [ValueErrorType.ObjectAdditionalProperties]: () => 'is not a known field',
}

export interface Format {
  readonly isValid: (text: string) => boolean
  readonly fault: string
  /** A regular expression for the OpenAPI document. */
  readonly pattern?: string
}

const date =
  '(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|' +
  '02-(?:0[1-9]|1[0-9]|2[0-8]))|' +
  '(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)'

const entityTag = '(?:W/)?"[!#-~\\x80-\\xff]*"'
const entityTags = `^(?:\\*|(?:[ \\t]*,)*[ \\t]*${entityTag}(?:[ \\t]*,(?:[ \\t]*${entityTag})?)*[ \\t]*)$`

const printableAscii = /^[ -~]*$/

/** Text formats by name. The names of JSON Schema are used if they exist. */
export const formats = {
  'country-code': {
    isValid: isCountryCode,
    fault: 'must be an ISO 3166-1 alpha-2 country code',
    pattern: countryCodePattern,
  },
  'language-tag': {
    isValid: isLanguageTag,
    fault: 'must be a well-formed BCP 47 language tag',
    pattern: languageTagPattern,
  },
  email: { isValid: isEmail, fault: 'must be an e-mail address', pattern: emailPattern },
  'phone-number': {
    isValid: isPhoneNumber,
    fault: 'must be a phone number with a leading + and 7 to 15 digits',
    pattern: phoneNumberPattern,
  },
  date: {
    isValid: (text) => parseDate(text) !== null,
    fault: 'must be a calendar date, written as YYYY-MM-DD',
    pattern: `^${date}$`,
  },
  'date-time': {
    isValid: (text) => parseInstant(text) !== null,
    fault: 'must be a UTC timestamp, written as YYYY-MM-DDTHH:MM:SSZ',
    pattern: `^${date}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.0+)?Z$`,
  },
  'printable-ascii': {
    isValid: (text) => printableAscii.test(text),
    fault: 'must contain only printable ASCII characters',
    pattern: printableAscii.source,
  },
  /** RFC 9110 §13.1.1. */
  'entity-tags': {
    isValid: (text) => new RegExp(entityTags).test(text),
    fault: 'must be * or a list of entity tags',
    pattern: entityTags,
  },
  'not-blank': {
    isValid: (text) => /\S/.test(text),
    fault: 'must not be blank',
    pattern: '^[^\\x00]*[^\\x00\\t-\\r ][^\\x00]*$',
  },
  'time-of-day': {
    isValid: (text) => parseTimeOfDay(text) !== null,
    fault: 'must be a time, written as HH:MM',
  },
  'absence-boundary': {
    isValid: (text) => absenceForm(text) !== null,
    fault: 'must be a date, a local date-time (YYYY-MM-DDTHH:MM) or a UTC instant (YYYY-MM-DDTHH:MM:00Z)',
  },
} as const satisfies Record<string, Format>

type FormatName = keyof typeof formats
