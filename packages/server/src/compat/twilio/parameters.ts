import { isUtf8 } from 'node:buffer'
import { checkValue, invalid, type SvcError } from '@svc/core/contract'
import type { FastifyInstance } from 'fastify'
import { TwilioError } from './errors.ts'

/** The maximum number of parameters. A message has at most 30. */
const PARAMETERS_MAX = 100

/** The parameters of a request by name. A parameter may be repeated. */
export type Parameters = Readonly<Record<string, readonly string[]>>

/** Lets the routes of `scope` take only forms, at most 100 parameters. The body is then of type `Parameters`. */
export function acceptParameters(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser<Buffer>(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    (_request, bytes, done) => {
      try {
        done(null, parse(bytes))
      } catch (error) {
        done(error as Error)
      }
    },
  )
}

/** The parameters of a form, read as a browser's `URLSearchParams` reads them. */
function parse(bytes: Buffer): Parameters {
  if (!isUtf8(bytes)) throw notUtf8()
  const text = bytes.toString('utf8')
  checkValue(text)
  const pairs: [string, string][] = []
  let pieces = 0
  for (let from = 0; from < text.length; ) {
    const next = text.indexOf('&', from)
    const to = next === -1 ? text.length : next
    pieces += 1
    if (pieces > PARAMETERS_MAX) {
      throw invalid('', `The form must have at most ${PARAMETERS_MAX} parameters`)
    }
    if (to > from) pairs.push(pairOf(text.slice(from, to)))
    from = to + 1
  }
  return grouped(pairs)
}

function pairOf(piece: string): [string, string] {
  const equals = piece.indexOf('=')
  return equals === -1
    ? [decoded(piece), '']
    : [decoded(piece.slice(0, equals)), decoded(piece.slice(equals + 1))]
}

/** Unlike `URLSearchParams`, refuses percent-encoding that is not UTF-8, which would become another text. */
function decoded(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  let plain: string
  try {
    plain = decodeURIComponent(spaced)
  } catch {
    throw notUtf8()
  }
  checkValue(plain)
  return plain
}

function notUtf8(): SvcError {
  return invalid('', 'The form must be percent-encoded UTF-8')
}

/** The parameters of a query, which was checked before. */
export function parametersOf(query: Readonly<Record<string, unknown>>): Parameters {
  const pairs = Object.entries(query).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, String(value)]),
  )
  return grouped(pairs)
}

/** Groups values by name. They were checked before. */
function grouped(pairs: readonly [string, string][]): Parameters {
  const found: Record<string, string[]> = Object.create(null)
  for (const [name, value] of pairs) {
    const values = found[name]
    if (values) values.push(value)
    else found[name] = [value]
  }
  return found
}

/** The values of the parameters that a request may have, read once each. */
export class Given<Name extends string> {
  readonly #parameters: Parameters

  /**
   * @param names the supported parameters
   * @param neutral parameters that change nothing if they have this value; any other value is refused
   * @throws TwilioError for every other parameter
   */
  constructor(
    parameters: Parameters,
    names: ReadonlySet<Name>,
    neutral: Readonly<Record<string, string>> = {},
  ) {
    this.#parameters = parameters
    for (const name in parameters) {
      if (names.has(name as Name)) continue
      const harmless = Object.hasOwn(neutral, name) ? neutral[name] : undefined
      if (harmless !== undefined && parameters[name]?.every((value) => value === harmless)) continue
      const shown = name.slice(0, 64)
      const what =
        harmless === undefined
          ? `The parameter '${shown}' is not supported`
          : `The parameter '${shown}' is only supported with the value '${harmless}'`
      throw new TwilioError('invalid_parameter', `${what}. See docs/compat/twilio.md`)
    }
  }

  /** The value; undefined if it is absent. @throws TwilioError for a repeated parameter. */
  one(name: Name): string | undefined {
    const values = this.#parameters[name]
    if (values && values.length > 1) {
      throw new TwilioError('invalid_parameter', `The parameter '${name}' must be given only once`)
    }
    return values?.[0]
  }

  /** The value; undefined if it is absent or empty. */
  filled(name: Name): string | undefined {
    return this.one(name) || undefined
  }

  all(name: Name): readonly string[] {
    return this.#parameters[name] ?? []
  }
}
