import { text } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'

const NAME = "[a-z0-9][a-z0-9!#$&^_.+'-]*"
/** A token without `*`, `'` and `%`, which RFC 2231 gives a meaning in the names of parameters. */
const ATTRIBUTE = '[a-z0-9!#$&+.^_`{|}~-]+'
const TOKEN = "[a-z0-9!#$%&'*+.^_`{|}~-]+"
const QUOTED = '"(?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\[\\x20-\\x7e])*"'
const TYPE = new RegExp(`${NAME}/${NAME}`, 'iy')
const PARAMETER = new RegExp(`[ \\t]*;[ \\t]*(${ATTRIBUTE})=(?:${TOKEN}|${QUOTED})`, 'iy')
/** Composite types must not be encoded as base64 (RFC 2046, section 5). */
const COMPOSITE = /^(?:multipart|message)\//i
const PARAMETERS_MAX = LIMITS.email_content_type_parameters

/** The type of a file with its parameters, as a header has them. Source: RFC 2045, section 5.1. */
export const contentType = text(LIMITS.email_content_type_length)
  .refine((type) => parameterNames(type) !== null && !COMPOSITE.test(type), {
    error:
      'content_type must be a type and a subtype such as application/pdf, not multipart or message; parameters follow as in "text/calendar; method=REQUEST"',
  })
  .refine((type) => isEachOnce(parameterNames(type) ?? []), {
    error: `content_type must have at most ${PARAMETERS_MAX} parameters, each once`,
  })
  .meta({ example: 'application/pdf' })

/** Each parameter once: RFC 6838, section 4.3. */
function isEachOnce(names: readonly string[]): boolean {
  return names.length <= PARAMETERS_MAX && new Set(names).size === names.length
}

/** The names in lower case; null for a text that is no type. */
function parameterNames(type: string): string[] | null {
  TYPE.lastIndex = 0
  if (!TYPE.test(type)) return null
  const names: string[] = []
  let end = TYPE.lastIndex
  while (end < type.length) {
    PARAMETER.lastIndex = end
    const name = PARAMETER.exec(type)?.[1]
    if (name === undefined) return null
    names.push(name.toLowerCase())
    end = PARAMETER.lastIndex
  }
  return names
}

/**
 * The type of a file with those of its parameters that a request may have. Values are given without quotes. Null for a type
 * that a file cannot have.
 */
export function contentTypeOf(
  type: string,
  parameters: Readonly<Record<string, string>>,
): string | null {
  const isValid = (one: string) => contentType.safeParse(one).success
  if (!isValid(type)) return null
  return Object.entries(parameters).reduce((whole, [name, value]) => {
    const longer = `${whole}; ${name}=${isToken(value) ? value : quoted(value)}`
    return isValid(longer) ? longer : whole
  }, type)
}

const ONLY_TOKEN = new RegExp(`^${TOKEN}$`, 'i')

function isToken(value: string): boolean {
  return ONLY_TOKEN.test(value)
}

function quoted(value: string): string {
  return `"${value.replace(/["\\]/g, '\\$&')}"`
}
