import type { ActorKind } from '../contract/resources/audit.ts'

/** Who makes a change and from where, as the audit log records it. */
export interface Actor {
  kind: ActorKind
  /** The API key, or the name of the operator; null where there is none. */
  id: string | null
  /** The IP address of the client; null where there is none. */
  address: string | null
  /** The `X-Request-Id` of the response; null where there is none. */
  request_id: string | null
  /** Of a session: what a change checks again in its transaction, so that an ended session makes none. */
  session?: { session_hash: string; token_version: number }
}

/** The default actor of every change: svc itself, or the program that embeds it. */
export const SERVICE: Actor = { kind: 'service', id: null, address: null, request_id: null }
