import type { z } from 'zod'
import type { ErrorCode } from '../errors.ts'
import type { Units } from '../fields/units.ts'
import type { Capability } from './roles.ts'

/** The permissions of API keys. Source: interface, API key. */
export const SCOPES = [
  'send_messages',
  'read_messages',
  'manage_contacts',
  'manage_webhooks',
] as const

/** One permission of an API key. */
export type Scope = (typeof SCOPES)[number]

/** The HTTP methods that endpoints use; the API itself has no `PATCH`. */
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The credentials that an endpoint accepts. `operator`: the session of an operator, which only the console has. */
export type Auth = 'none' | 'api_key' | 'jwt' | 'jwt_or_api_key' | 'operator'

/** The rate limit that counts the requests to an endpoint. `exempt` endpoints send the headers and never refuse. */
export type Rate = 'general' | 'bulk' | 'auth' | 'anonymous' | 'exempt'

/** One endpoint of the API. Server, client, command line and API reference are derived from it. */
export interface Endpoint {
  readonly method: HttpMethod
  /** The path from the root; `:name` is a parameter. */
  readonly path: `/${string}`
  /** Another path of the endpoint, with the same parameters. The OpenAPI document and the clients use `path`. */
  readonly also_at?: `/${string}`
  readonly auth: Auth
  /** The scope that an API key needs. */
  readonly scope?: Scope
  /** A further scope that an API key needs. */
  readonly also_scope?: Scope
  /** What the role of a session must allow. By default it follows from the scope; without a scope, only the owner may call. */
  readonly needs?: Capability
  readonly rate: Rate
  /** The HTTP status of success. */
  readonly status: 200 | 201
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** The answer: the `data` of the envelope, or the whole body when `enveloped` is false. */
  readonly data: z.ZodType
  readonly enveloped: boolean
  /** The maximum request body in bytes; default `LIMITS.body_bytes`. */
  readonly body_limit?: number
  /** Whether the body may have large files, which are no texts then. */
  readonly takes_files?: boolean
  /** Whether the endpoint takes an `Idempotency-Key` header. */
  readonly idempotent?: boolean
  /** Whether the work may ask other hosts before it has its effect, for a file or a checkout: without a key it has no time limit. */
  readonly asks_hosts?: boolean
  /** Reads a plain body with the same result as the schema, in less time. Returns null for all other bodies. */
  readonly read_plain?: (body: unknown) => unknown
  /** Writes the data as JSON with the same result as the schema, in less time. */
  readonly write_data?: (data: never) => string
  /** The header with a signature over the exact bytes of the body. The body is parsed only after the signature is checked. */
  readonly signed_by?: string
  /** The body may also be a CSV file with the same data; the query of such a request. */
  readonly takes_csv?: z.ZodObject
  /** Whether the answer is streamed from the database, as JSON or CSV. */
  readonly gives_csv?: boolean
  /** Whether a long answer may be streamed. */
  readonly in_pieces?: boolean
  /** The message of the endpoint's 404 answer, which a malformed id gets too. */
  readonly not_found?: string
  /** The error codes of the endpoint, except the codes that follow from credentials, body, ids and rate limit. */
  readonly failures?: readonly ErrorCode[]
  /** A summary in one line, without a full stop. */
  readonly summary: string
  readonly description?: string
}

/** Endpoints, indexed by group and name. */
export type Api = Readonly<Record<string, Readonly<Record<string, Endpoint>>>>

/** An endpoint in the source; `enveloped` is true by default. */
export type EndpointDefinition = Omit<Endpoint, 'enveloped'> & { readonly enveloped?: boolean }

/** Completes a definition and keeps its exact type, so that the types of its schemas stay known. */
export function endpoint<const D extends EndpointDefinition>(
  definition: D,
): D & { readonly enveloped: boolean } {
  const needs = definition.needs ?? needsOf(definition)
  return {
    ...definition,
    ...(needs !== undefined && { needs }),
    enveloped: definition.enveloped ?? true,
  }
}

/** The capability that follows from the scope of an endpoint for API keys, which sessions of the console use too. */
function needsOf({ scope, method }: EndpointDefinition): Capability | undefined {
  if (scope === undefined) return undefined
  if (method === 'GET') return 'read'
  return scope === 'manage_webhooks' ? 'develop' : 'send'
}

/** The decoded body, for a handler. */
export type Body<E> = E extends { readonly body: infer S extends z.ZodType }
  ? z.output<S>
  : undefined
/** The decoded query, for a handler. */
export type Query<E> = E extends { readonly query: infer S extends z.ZodType }
  ? z.output<S>
  : undefined
/** The decoded path parameters, for a handler. */
export type Params<E> = E extends { readonly params: infer S extends z.ZodType }
  ? z.output<S>
  : undefined
/** The decoded answer: a handler and a method of the client return it. */
export type Data<E> = E extends { readonly data: infer S extends z.ZodType } ? z.output<S> : never

/** The body in JSON. */
export type WireBody<E> = E extends { readonly body: infer S extends z.ZodType }
  ? z.input<S>
  : undefined
/** The query of the URL; all values are strings. */
export type WireQuery<E> = E extends { readonly query: infer S extends z.ZodType }
  ? z.input<S>
  : undefined
/** The path parameters of the URL. */
export type WireParams<E> = E extends { readonly params: infer S extends z.ZodType }
  ? z.input<S>
  : undefined
/** The answer in JSON. */
export type WireData<E> = E extends { readonly data: infer S extends z.ZodType }
  ? z.input<S>
  : never

/**
 * The form in which a method of the core takes requests. `given`: as the API takes them in JSON, and an instant may also be
 * a Date; the method decodes them. `decoded`: as `decode` returned them; the method does not decode them again.
 */
export type Form = 'given' | 'decoded'

/** The body that a method of the core takes. */
export type BodyIn<E, F extends Form> = F extends 'decoded'
  ? Body<E>
  : E extends { readonly body: infer S extends z.ZodType }
    ? Given<z.input<S>, z.output<S>>
    : undefined

/** The query that a method of the core takes. Given values may be strings, as in a URL, or decoded. */
export type QueryIn<E, F extends Form> = F extends 'decoded' ? Query<E> : QueryArgs<E>

/** A number of credits. `Units` are refused: micro-credits would be a million times the amount. */
export type CreditsInput = number & { readonly __units?: never }

/** JSON values in which an instant may also be a Date. */
type Given<In, Out> = In extends unknown
  ? {
      [K in keyof In]: K extends KeysWith<Out, Date>
        ? In[K] | Date
        : K extends KeysOfUnits<Out>
          ? Exclude<In[K], number> | CreditsInput
          : In[K]
    }
  : never

type KeysWith<Out, T> = Out extends unknown
  ? { [K in keyof Out]-?: T extends Out[K] ? K : never }[keyof Out]
  : never

type KeysOfUnits<Out> = Out extends unknown
  ? {
      [K in keyof Out]-?: Units extends Out[K] ? (number extends Out[K] ? never : K) : never
    }[keyof Out]
  : never

type Empty = Record<never, never>

/** The values of a query: encoded as strings, or decoded. */
type QueryArgs<E> = E extends { readonly query: infer S extends z.ZodType }
  ? {
      [K in keyof z.input<S>]:
        | z.input<S>[K]
        | (K extends keyof z.output<S> ? z.output<S>[K] : never)
    }
  : Empty
