import type { CallbackRequest, Provider, Traits } from '../../src/contract/outside/provider.ts'
import type { Channel } from '../../src/contract/resources/messages.ts'

/**
 * In what time a provider under trial must be answered. Nothing is meant to run out of the patient one, however slow or
 * busy the machine is; the brief one is for peers that never answer.
 */
export const DEADLINES_MS = { patient: 15_000, brief: 1_500 } as const

/** What the peer of a provider does with one message. */
export type Fate =
  /** Takes it and says so. */
  | 'accept'
  /** Will never take it, and says so: a bad recipient, for instance. */
  | 'reject'
  /** Does not take it now, for there were too many. */
  | 'throttle'
  /** Says clearly that it did not take it, for it has troubles of its own. */
  | 'unavailable'
  /** Reads it whole, takes it, and never answers. */
  | 'hang_after_read'
  /** Reads it whole, takes it, and ends the connection without an answer. */
  | 'drop_after_read'

/** What the peer does with everybody from now on; connections and sessions that are open end first. */
export type Refusal = 'refuse_connection' | 'bad_credentials'

/** A message that the peer has read whole. */
export interface PeerMessage {
  recipient: string
  /** Whether the peer took it; true also where it hung or dropped the connection then. */
  accepted: boolean
  /** By what the peer could tell that it had it before: a key, a Message-ID, an id in the callback's address. */
  identity: string | null
  /** The id that the provider's outcome must bear; null where the peer gives none. */
  provider_message_id: string | null
}

/**
 * How the contract suite drives one kind of provider: see `http/contract.test.ts` for a whole one. Static facts first:
 * they decide which tests there are.
 */
export interface ProviderHarness {
  channel: Channel
  /** Of the settings that `open` uses. */
  traits: Traits
  /** Which fates `recipient` can give; all of them unless the kind of provider rules one out. */
  fates: readonly Fate[]
  /** Which of these `peer.turn` can do; none where there is no peer. */
  refusals: readonly Refusal[]
  /** Whether a repeat of a message is recognisable on the wire. */
  identifies: boolean
  /** Whether `bench.callbacks` is there, and whether its signature covers the body too. */
  callbacks: { signs_body: boolean } | null
  /** A new peer, and a new provider that is ready to send to it and waits so long for an answer. */
  open(deadline_ms: number): Promise<ProviderBench>
}

export interface ProviderBench {
  provider: Provider
  /** The secrets of its settings and context: what must never be in a text. */
  secrets: readonly string[]
  /** A recipient that no one had before; messages to it fare so. */
  recipient(fate: Fate): string
  /** Null for a provider that reaches nobody. */
  peer: {
    /** Everything that it has read, in its order: the truth that outcomes are held against. */
    seen(): readonly PeerMessage[]
    connections(): number
    turn(refusal: Refusal): Promise<void>
  } | null
  callbacks: {
    /** What the peer calls when it is done with a message, signed as it must be. */
    of(
      about: { workspace_id: string; message_id: string; provider_message_id: string | null },
      status: 'delivered' | 'failed',
    ): CallbackRequest
    /** Any body at all, rightly signed. */
    signed(body: Uint8Array): CallbackRequest
  } | null
  /** Closes the provider, if the test did not, and then the peer. */
  close(): Promise<void>
}
