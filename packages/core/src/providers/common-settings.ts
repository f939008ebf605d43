import { X509Certificate } from 'node:crypto'
import * as z from 'zod'
import type { Provider, ProviderContext, Traits } from '../contract/outside/provider.ts'
import type { OptionalPackage } from '../runtime/optional-packages.ts'

/** The maximum number of simultaneous connections of each thread to a provider whose settings name none. */
export const CONNECTIONS = 50

/** One type of provider. Its module loads fast, because `open` loads the code that sends. */
export interface ProviderType<Settings> {
  /** A strict object of `commonSettings`, `type` (a literal) and the type's own settings. */
  settings: z.ZodType<Settings> & { shape: { type: z.ZodLiteral<string> } }
  traits(settings: Settings): Traits
  /** The optional packages that these settings need; default: none. */
  packages?(settings: Settings): readonly OptionalPackage[]
  open(settings: Settings, context: ProviderContext): Promise<Provider>
}

/** The settings that every provider has. */
export const commonSettings = {
  /** The provider's name in routes, in records and in the URL of its callbacks. */
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9, "-" and "_", a letter first'),
  /** The maximum number of messages per second from one sender; default: no limit. */
  messages_per_second: z.number().positive().max(100_000).optional(),
}

/** Numbers or names to send from; the first is the default. */
export const senders = z.array(z.string().min(1).max(64)).min(1)

/** Whether the provider itself answers STOP, START and HELP. */
export const handlesStop = z.boolean()

const PEM_LENGTH_MAX = 64 * 1024

/** A key or certificates in PEM (RFC 7468). */
export const pem = z.string().max(PEM_LENGTH_MAX)

/** A certificate to verify a peer with. An invalid certificate would make every connection fail. */
export const certificate = pem.refine(isCertificate, 'must be a certificate in PEM')

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).subject !== undefined
  } catch {
    return false
  }
}
