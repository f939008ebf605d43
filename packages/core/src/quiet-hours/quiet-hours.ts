import { setImmediate as turn } from 'node:timers/promises'
import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { TemplateCategory } from '../contract/resources/templates.ts'
import type { QuietHours } from '../contract/resources/workspaces.ts'
import type { ContactRow, WorkspaceRow } from '../rows/rows.ts'
import { isTimeZone, nextAllowed } from '../rules/quiet-hours.ts'
import { type Awaitable, whenReady } from '../runtime/awaitable.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { COUNTRY_ZONES } from './country-zones.ts'

/** The end of the quiet hours in which a message to a recipient would be sent at `due`; null if it may be sent then. */
export type EndOfQuiet = (recipient: string, due: Date) => Date | null

/** The quiet hours of workspaces. */
export interface QuietHoursOf {
  /**
   * The quiet hours for messages of a category to these recipients; null without any, at once if the settings of the
   * workspace are known. A test key does not get the zones of contacts.
   */
  endFor(
    identity: Pick<KeyIdentity, 'workspace_id' | 'mode'>,
    messages: { category: TemplateCategory; channel: Channel; recipients: () => readonly string[] },
  ): Awaitable<EndOfQuiet | null>
  /** The zones of the contacts of a workspace, whether it has quiet hours or not. */
  zonesFor(workspaceId: string): Promise<ZoneOf>
  /** The zone of a contact, and where it is from. */
  zoneOf(workspaceId: string, contact: Located): Promise<RecipientZone>
  /** Forgets the settings of a workspace, because they changed. */
  forget(workspaceId: string): void
}

/** What a contact has that says where its clocks are. */
type Located = Pick<ContactRow, 'phone' | 'attributes'>

/**
 * The IANA zone of a contact on any channel: the one in its attributes, else that of the country of its number, else that of the
 * workspace.
 */
export type ZoneOf = (contact: Located) => string

/** The IANA zone of a recipient: of the attributes of its contact, of the country of its number, or of the workspace. */
export interface RecipientZone {
  time_zone: string
  source: 'contact' | 'country' | 'workspace'
}

/** How long settings are used: a change by another process counts after this time at the latest. */
const FRESH_MS = 5_000

/** The number of workspaces whose settings are kept. At this number the map is emptied before the next one is added. */
const KNOWN_MAX = 10_000

/** The addresses of one query. The attributes of as many contacts have at most 2 MB. */
const ADDRESSES_MAX = 256

type Settings = Pick<WorkspaceRow, 'quiet_hours' | 'time_zone'> | null

export function createQuietHours({
  storage,
  runtime,
}: {
  storage: Pick<Storage, 'read'>
  runtime: Pick<Runtime, 'elapsed'>
}): QuietHoursOf {
  const known = new Map<string, { since_ms: number; settings: Awaitable<Settings> }>()

  function settingsOf(workspaceId: string): Awaitable<Settings> {
    const since_ms = runtime.elapsed()
    const found = known.get(workspaceId)
    if (found && since_ms - found.since_ms < FRESH_MS) return found.settings
    const settings = storage.read.workspaces.quietHours(workspaceId)
    const entry: { since_ms: number; settings: Awaitable<Settings> } = { since_ms, settings }
    if (known.size >= KNOWN_MAX) known.clear()
    known.set(workspaceId, entry)
    settings.then(
      (read) => {
        entry.settings = read
      },
      () => {
        if (known.get(workspaceId) === entry) known.delete(workspaceId)
      },
    )
    return settings
  }

  /** The zones that contacts with these addresses have, indexed by address. */
  async function contactZones(
    workspaceId: string,
    channel: Channel,
    recipients: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const zones = new Map<string, string>()
    const zoneOfNumber = await numberZones()
    for (let at = 0; at < recipients.length; at += ADDRESSES_MAX) {
      if (at > 0) await turn()
      const addresses = recipients.slice(at, at + ADDRESSES_MAX)
      const keys =
        channel === 'email'
          ? { phones: [], email_keys: addresses.map(emailKey) }
          : { phones: addresses, email_keys: [] }
      for (const row of await storage.read.contacts.attributes(workspaceId, keys)) {
        const zone = zoneIn(row.attributes) ?? zoneOfNumber(row.phone)
        const address = channel === 'email' ? row.email_key : row.phone
        if (address !== null && zone !== null) zones.set(address, zone.toLowerCase())
      }
    }
    return zones
  }

  return {
    endFor({ workspace_id, mode }, { category, channel, recipients }) {
      return whenReady(settingsOf(workspace_id), (settings) => {
        const hours = settings?.quiet_hours?.filter((one) => one.category === category) ?? []
        if (hours.length === 0) return null
        const zones =
          mode === 'live' ? contactZones(workspace_id, channel, recipients()) : new Map()
        return endIn(hours, { channel, zones, usual: settings?.time_zone ?? 'UTC' })
      })
    },
    async zonesFor(workspaceId) {
      const settings = await settingsOf(workspaceId)
      const zoneOfNumber = await numberZones()
      return ({ phone, attributes }) =>
        zoneIn(attributes) ?? zoneOfNumber(phone) ?? settings?.time_zone ?? 'UTC'
    },
    async zoneOf(workspaceId, { phone, attributes }) {
      const own = zoneIn(attributes)
      if (own !== null) return { time_zone: own, source: 'contact' }
      const zoneOfNumber = await numberZones()
      const country = zoneOfNumber(phone)
      if (country !== null) return { time_zone: country, source: 'country' }
      const settings = await settingsOf(workspaceId)
      return { time_zone: settings?.time_zone ?? 'UTC', source: 'workspace' }
    },
    forget(workspaceId) {
      known.delete(workspaceId)
    },
  }
}

/** The attribute of a contact that has its IANA zone. */
const ZONE = 'time_zone'

/** The zone in the attributes of a contact; null without one, or if the text names no zone. */
function zoneIn(attributes: ContactRow['attributes']): string | null {
  const zone = Object.hasOwn(attributes, ZONE) ? attributes[ZONE] : null
  return typeof zone === 'string' && isTimeZone(zone) ? zone : null
}

// The metadata of numbers is large, so it is loaded for the first message that needs a zone. Each `import` takes 30 µs.
let loadedNumbers: Promise<typeof import('../prices/country-of.ts')> | null = null

function numbers(): NonNullable<typeof loadedNumbers> {
  loadedNumbers ??= import('../prices/country-of.ts')
  return loadedNumbers
}

/** The zone of a number: that of its country, if the country has one. */
async function numberZones(): Promise<(phone: string | null) => string | null> {
  const { countryOf } = await numbers()
  return (phone) => (phone === null ? null : (COUNTRY_ZONES.get(countryOf(phone) ?? '') ?? null))
}

/** The ends in the zones of recipients: that of the contact, else that of the recipient's number, else the usual one. */
async function endIn(
  hours: readonly QuietHours[],
  of: { channel: Channel; zones: Awaitable<ReadonlyMap<string, string>>; usual: string },
): Promise<EndOfQuiet> {
  const { channel, usual } = of
  const isMail = channel === 'email'
  const zones = await of.zones
  const zoneOfNumber = isMail ? () => null : await numberZones()
  // The recipients of a bulk share few zones and times.
  const ends = new Map<string, number>()
  return (recipient, due) => {
    const zone =
      zones.get(isMail ? emailKey(recipient) : recipient) ?? zoneOfNumber(recipient) ?? usual
    const due_ms = due.getTime()
    const key = `${due_ms} ${zone}`
    const end_ms = ends.get(key) ?? nextAllowed(due, hours, zone).getTime()
    ends.set(key, end_ms)
    return end_ms === due_ms ? null : new Date(end_ms)
  }
}
