import * as z from 'zod'
import { LIMITS } from '../../contract/limits.ts'
import type { Traits } from '../../contract/outside/provider.ts'
import { CHANNELS } from '../../contract/resources/content.ts'
import { commonSettings, senders } from '../common-settings.ts'
import { faultOf, ruleText } from '../parse.ts'
import type { DefinedProvider, ProviderDefinition, ProviderFault } from './definition.ts'
import { guardProvider } from './guard.ts'

/** Marks a defined provider, also if it comes from another copy of this package. */
const MARK = Symbol.for('svc.provider')

const code = z.custom((value) => typeof value === 'function', 'must be a function')

const definitionSchema = z.object({
  name: commonSettings.name,
  traits: z.strictObject({
    channels: z
      .array(z.enum(CHANNELS))
      .min(1)
      .refine(
        (channels) => new Set(channels).size === channels.length,
        'must not repeat a channel',
      ),
    senders: z.partialRecord(z.enum(CHANNELS), senders).optional(),
    idempotent: z.boolean().optional(),
    callback_bytes: z.int().min(1).max(LIMITS.callback_body_bytes_max).nullish(),
    connected: z.boolean().optional(),
    messages_per_second: commonSettings.messages_per_second.nullable(),
    handles_stop: z.boolean().optional(),
    several_recipients: z.boolean().optional(),
  }),
  send: code,
  lookup: code.optional(),
  readCallback: code.optional(),
  check: code.optional(),
  listen: code.optional(),
  close: code.optional(),
})

/**
 * Makes a provider from its functions. The service checks each result, so a fault of the code cannot lose or repeat a
 * message: a send with an unclear result is `ambiguous`.
 * @throws RangeError that names the wrong field.
 */
export function defineProvider(definition: ProviderDefinition): DefinedProvider {
  const parsed = definitionSchema.safeParse(definition, { error: ruleText })
  if (!parsed.success) throw new RangeError(`defineProvider: ${faultOf(parsed.error, '')}`)
  const traits = traitsOf(definition)
  const defined: DefinedProvider = {
    name: definition.name,
    traits,
    open: (context, onFault = warn) =>
      guardProvider(definition, { name: defined.name, context, onFault }),
  }
  return Object.freeze(Object.defineProperty(defined, MARK, { value: true }))
}

/** Whether `defineProvider` made the value. */
export function isDefinedProvider(value: unknown): value is DefinedProvider {
  return typeof value === 'object' && value !== null && MARK in value
}

function traitsOf({ traits, lookup, readCallback, listen }: ProviderDefinition): Traits {
  const { callback_bytes, connected = false, messages_per_second = null } = traits
  if (callback_bytes != null && !readCallback) {
    throw new RangeError('defineProvider: traits.callback_bytes: needs readCallback')
  }
  if (callback_bytes === null && readCallback) {
    throw new RangeError(
      'defineProvider: traits.callback_bytes: must not be null with readCallback',
    )
  }
  if (connected && !listen) {
    throw new RangeError('defineProvider: traits.connected: needs listen')
  }
  return Object.freeze({
    channels: Object.freeze([...traits.channels]),
    senders: Object.freeze(structuredClone(traits.senders ?? {})),
    idempotent: traits.idempotent ?? false,
    lookup: lookup !== undefined,
    callback_bytes: readCallback ? (callback_bytes ?? LIMITS.callback_body_bytes) : null,
    listens: listen !== undefined,
    connected,
    messages_per_second,
    handles_stop: traits.handles_stop ?? false,
    several_recipients: traits.several_recipients ?? false,
  })
}

function warn({ provider, call, fault, at }: ProviderFault): void {
  const place = at[0] === undefined ? '' : ` ${at[0]}`
  process.emitWarning(`provider ${provider}: ${call}: ${fault}${place}`, 'SvcProviderWarning')
}
