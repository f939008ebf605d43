/**
 * The prefixes of Twilio's ids (SIDs), by what they name: a workspace, an API key, a message, a call, a received file, a
 * sender. A SID is the prefix and the 32 hex digits of the UUID, so that it needs no column of its own.
 * Source: https://www.twilio.com/docs/glossary/what-is-a-sid
 */
export const SID_PREFIXES = {
  account: 'AC',
  api_key: 'SK',
  message: 'SM',
  call: 'CA',
  media: 'ME',
  phone_number: 'PN',
} as const

/** What a SID names. */
export type SidKind = keyof typeof SID_PREFIXES

/** The SID of a UUID. */
export function sidOf(kind: SidKind, id: string): string {
  // Slices take a third of the time of a replacement, and each request of Twilio's door makes several SIDs.
  return `${SID_PREFIXES[kind]}${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${id.slice(19, 23)}${id.slice(24)}`
}

const FORM = /^([A-Z]{2})([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/

/** The UUID of a SID, in lower case; null if the text is not a SID of that kind. */
export function idOfSid(kind: SidKind, sid: string): string | null {
  const [, prefix, ...groups] = FORM.exec(sid.slice(0, 2) + sid.slice(2).toLowerCase()) ?? []
  return prefix === SID_PREFIXES[kind] ? groups.join('-') : null
}

/** Whether a SID names that UUID. A SID in the form of `sidOf` is only compared, because each request has two. */
export function isSidOf(kind: SidKind, sid: string, id: string): boolean {
  return sid === sidOf(kind, id) || idOfSid(kind, sid) === id
}

/**
 * Reads the user name of Basic credentials for Twilio's API: an account SID, or the SID of an API key. Null if the text is
 * neither.
 */
export function readBasicUser(
  user: string,
): { workspace_id: string } | { api_key_id: string } | null {
  const workspace_id = idOfSid('account', user)
  if (workspace_id !== null) return { workspace_id }
  const api_key_id = idOfSid('api_key', user)
  return api_key_id === null ? null : { api_key_id }
}
