import type { z } from 'zod'
import type { ErrorCode } from '../errors.ts'
import type { Scope } from '../scopes.ts'

/** The HTTP methods that the API uses. */
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** Which credential opens an endpoint. */
export type Auth = 'none' | 'api_key' | 'jwt' | 'jwt_or_api_key'

/** Which rate limit an endpoint counts in; `exempt` ones carry the headers and are never refused. */
export type Rate = 'general' | 'bulk' | 'auth' | 'anonymous' | 'exempt'

/** One line of the API's table: all that server, client, CLI and documents know of an endpoint. */
export interface Endpoint {
  readonly method: HttpMethod
  /** From the root, with `:name` for a parameter. */
  readonly path: `/${string}`
  readonly auth: Auth
  /** What an API key must hold to be let in. */
  readonly scope?: Scope
  readonly rate: Rate
  /** The HTTP status of success. */
  readonly status: 200 | 201
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** The answer: inside the envelope, or all of the body when `enveloped` is false. */
  readonly data: z.ZodType
  readonly enveloped: boolean
  /** Largest request body in bytes, where it is not `LIMITS.body_bytes`. */
  readonly body_limit?: number
  /** Whether an `Idempotency-Key` header is honoured. */
  readonly idempotent?: boolean
  /** The header with a signature over the body: it is taken as it came, and not looked into before that was checked. */
  readonly signed_by?: string
  /** Whether the body may also come as CSV, which then stands for the same JSON. */
  readonly takes_csv?: boolean
  /** Whether the answer is written while it is read from the database, and may be asked for as CSV. */
  readonly gives_csv?: boolean
  /** Whether a long answer may be written piece by piece. */
  readonly in_pieces?: boolean
  /** The text of its 404; also the answer to an id that cannot be one, which is no one's. */
  readonly not_found?: string
  /** What it can refuse with besides what credentials, bodies and ids can always be refused for. */
  readonly failures?: readonly ErrorCode[]
  /** One line, without a full stop. */
  readonly summary: string
  readonly description?: string
}

/** Groups of endpoints by name, as `api` is. */
export type Api = Readonly<Record<string, Readonly<Record<string, Endpoint>>>>

/** An endpoint as one writes it down. */
export type EndpointDefinition = Omit<Endpoint, 'enveloped'> & { readonly enveloped?: boolean }

/** Completes a definition and keeps its exact type, so that callers know its schemas. */
export function endpoint<const D extends EndpointDefinition>(
  definition: D,
): D & { readonly enveloped: boolean } {
  return { ...definition, enveloped: definition.enveloped ?? true }
}

/** The body as a handler gets it. */
export type Body<E> = E extends { readonly body: infer S extends z.ZodType }
  ? z.output<S>
  : undefined
/** The query as a handler gets it. */
export type Query<E> = E extends { readonly query: infer S extends z.ZodType }
  ? z.output<S>
  : undefined
/** The path parameters as a handler gets them. */
export type Params<E> = E extends { readonly params: infer S extends z.ZodType }
  ? z.output<S>
  : undefined
/** What a handler returns, and what a client's caller gets. */
export type Data<E> = E extends { readonly data: infer S extends z.ZodType } ? z.output<S> : never

/** The body as JSON has it. */
export type WireBody<E> = E extends { readonly body: infer S extends z.ZodType }
  ? z.input<S>
  : undefined
/** The query as the address has it: texts. */
export type WireQuery<E> = E extends { readonly query: infer S extends z.ZodType }
  ? z.input<S>
  : undefined
/** The path parameters as the address has them. */
export type WireParams<E> = E extends { readonly params: infer S extends z.ZodType }
  ? z.input<S>
  : undefined
/** The answer as JSON has it. */
export type WireData<E> = E extends { readonly data: infer S extends z.ZodType }
  ? z.input<S>
  : never

type Nothing = Record<never, never>
type Given<T> = T extends undefined ? Nothing : T

/** A query's values as a client may give them: as texts, or as what they stand for. */
type QueryArgs<E> = E extends { readonly query: infer S extends z.ZodType }
  ? {
      [K in keyof z.input<S>]:
        | z.input<S>[K]
        | (K extends keyof z.output<S> ? z.output<S>[K] : never)
    }
  : Nothing

/** One flat object with everything that a client's caller gives: parameters, query and body. */
export type Args<E> = Given<WireParams<E>> & QueryArgs<E> & Given<WireBody<E>>
