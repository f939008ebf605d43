import type { CallbackRequest, Channel, Provider, Traits } from '@svc/core/contract'

/**
 * Deadlines of a tested provider. The patient one is long enough for a slow or busy machine; the brief one is for peers
 * that never answer.
 */
export const DEADLINES_MS = { patient: 15_000, brief: 1_500 } as const

/** How the peer of a provider treats one message. */
export type Fate =
  /** Accepts it. */
  | 'accept'
  /** Refuses it for good: a bad recipient, for example. */
  | 'reject'
  /** Refuses it for now: too many messages. */
  | 'throttle'
  /** Refuses it for now: an error of the peer. */
  | 'unavailable'
  /** Reads it to the end, accepts it, and never answers. */
  | 'hang_after_read'
  /** Reads it to the end, accepts it, and closes the connection without an answer. */
  | 'drop_after_read'

/** How the peer treats all clients from now on; open connections and sessions end first. */
export type Refusal = 'refuse_connection' | 'bad_credentials'

/** A message that the peer has read to its end. */
export interface PeerMessage {
  recipient: string
  /** Whether the peer accepted it; also true if the peer then did not answer or closed the connection. */
  accepted: boolean
  /** What identifies a repeat for the peer: a key, a Message-ID, an id in the callback URL. */
  identity: string | null
  /** The id that the provider's outcome must have; null if the peer has none. */
  provider_message_id: string | null
}

/** How the contract suite drives one provider. The static fields select the tests. */
export interface ProviderHarness {
  channel: Channel
  /** The traits of the settings that `open` uses. */
  traits: Traits
  /** The fates that `recipient` supports: all that the type of provider allows. */
  fates: readonly Fate[]
  /** The refusals that `peer.turn` supports; none without a peer. */
  refusals: readonly Refusal[]
  /** Whether the peer can recognise a repeat of a message. */
  identifies: boolean
  /** Whether the signature of `bench.callbacks` covers the body; null without callbacks. */
  callbacks: { signs_body: boolean } | null
  /** A new peer and a new provider that is ready to send to it, with this deadline in ms for an answer of the peer. */
  open(deadline_ms: number): Promise<ProviderBench>
}

/** A provider and its peer, for one test. */
export interface ProviderBench {
  provider: Provider
  /** The secrets of its settings and context, which must not be in any text. */
  secrets: readonly string[]
  /** A new recipient whose messages get this fate. */
  recipient(fate: Fate): string
  /** Null for a provider without a network. */
  peer: {
    /** All messages that it has read, in order: outcomes are compared with them. */
    seen(): readonly PeerMessage[]
    /** Its open connections. Absent if the provider keeps no connections of its own; closing is then not tested. */
    connections?(): number
    turn(refusal: Refusal): Promise<void>
  } | null
  callbacks: {
    /** The signed callback of the peer for the final status of a message. */
    of(
      about: { workspace_id: string; message_id: string; provider_message_id: string | null },
      status: 'delivered' | 'failed',
    ): CallbackRequest
    /** Any body, with a valid signature. */
    signed(body: Uint8Array): CallbackRequest
  } | null
  /** Closes the provider, unless the test did, and then the peer. */
  close(): Promise<void>
}
