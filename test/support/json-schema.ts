export interface Schema {
  readonly [keyword: string]: unknown
}

// Keywords that these tests ignore.
const ignored = ['description', 'examples', 'default', 'minLength', 'maxLength', 'additionalProperties']

const typeChecks: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  integer: Number.isInteger,
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  array: Array.isArray,
  null: (value) => value === null,
}

/**
 * Returns a path and an error for each part of a value that does not match a schema. Properties that the schema does
 * not define are errors too, unlike in JSON Schema.
 * @throws Error for an unknown keyword
 */
export function schemaErrors(
  value: unknown,
  schema: Schema,
  schemas: Record<string, Schema>,
  path = 'body',
): string[] {
  return Object.entries(schema).flatMap(([keyword, expected]) => {
    switch (keyword) {
      case '$ref':
        return schemaErrors(value, referred(expected as string, schemas), schemas, path)
      case 'type': {
        const types = [expected].flat() as string[]
        return types.some((type) => typeChecks[type]?.(value)) ? [] : [`${path}: not ${types.join(' or ')}`]
      }
      case 'enum':
        return (expected as unknown[]).includes(value) ? [] : [`${path}: not among ${expected}`]
      case 'pattern':
        return value === null || new RegExp(expected as string, 'u').test(String(value))
          ? []
          : [`${path}: not of the pattern ${expected}`]
      case 'format':
        return value === null || isOfFormat(value, expected) ? [] : [`${path}: not a ${expected}`]
      case 'required':
        return (expected as string[])
          .filter((name) => !Object.hasOwn(value as object, name))
          .map((name) => `${path}.${name}: missing`)
      case 'properties':
        return Object.entries(value as object).flatMap(([name, inner]) => {
          const known = (expected as Record<string, Schema>)[name]
          return known
            ? schemaErrors(inner, known, schemas, `${path}.${name}`)
            : [`${path}.${name}: not in the schema`]
        })
      case 'items':
        return (value as unknown[]).flatMap((inner, index) =>
          schemaErrors(inner, expected as Schema, schemas, `${path}[${index}]`),
        )
      default:
        if (!ignored.includes(keyword)) throw new Error(`no check of the keyword ${keyword}`)
        return []
    }
  })
}

function referred(reference: string, schemas: Record<string, Schema>): Schema {
  const schema = schemas[reference.replace('#/components/schemas/', '')]
  if (!schema) throw new Error(`${reference} leads nowhere`)
  return schema
}

function isOfFormat(value: unknown, format: unknown): boolean {
  if (format === 'int64') return Number.isSafeInteger(value)
  if (format !== 'date-time') throw new Error(`no check of the format ${format}`)
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/.test(String(value))
}
