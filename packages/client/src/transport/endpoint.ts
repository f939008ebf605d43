/** One endpoint of the API. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The path from the root; `:name` is a parameter. */
  readonly path: string
  readonly auth: 'none' | 'api_key' | 'jwt' | 'jwt_or_api_key'
  /** Whether it takes a body, or a query. */
  readonly body?: true
  readonly query?: true
  /** Whether it takes an idempotency key. */
  readonly idempotent?: true
  /** The field with the items of a list. */
  readonly list?: string
  /** A field of every answer that is not a list. */
  readonly has?: string
  /** Whether the answer has no envelope. */
  readonly bare?: true
}
