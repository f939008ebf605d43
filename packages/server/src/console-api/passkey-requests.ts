import { isIP } from 'node:net'
import {
  LIMITS,
  passkeyAssertion,
  passkeyRegistration,
  text,
  timestamp,
  uuid,
} from '@svc/core/contract'
import * as z from 'zod'
import type { ConsoleAccess } from './access.ts'

const current_password = text(LIMITS.password_length_max)
const name = text(LIMITS.passkey_name_length)
const one = { params: z.object({ id: uuid }), not_found: 'Passkey not found' } as const
/** The options for `navigator.credentials`. */
export const options = z.object({ options: z.custom<Readonly<Record<string, unknown>>>() })

/** A sign-in with a passkey. */
export const passkeySignIn = {
  body: z.object({
    passkey: passkeyAssertion,
    password: text(LIMITS.password_length_max).optional(),
  }),
} as const

/** The requests about passkeys, which members and operators share. `path`: of the second factor. */
export function passkeyRequests<const P extends string>(path: P) {
  const under = `${path}/passkeys` as const
  return {
    passkeys: {
      method: 'GET',
      path: under,
      data: z.object({
        passkeys: z.array(
          z.object({
            ...{ id: uuid, name: z.string(), created_at: timestamp },
            last_used_at: timestamp.nullable(),
          }),
        ),
      }),
      summary: 'List the own passkeys',
    },
    begin_passkey: {
      method: 'POST',
      path: `${under}/begin`,
      body: z.object({ current_password }),
      data: options,
      summary: 'Get the options for a new passkey',
    },
    add_passkey: {
      method: 'POST',
      path: under,
      body: z.object({ passkey: passkeyRegistration, name }),
      data: z.object({ recovery_codes: z.array(z.string()) }),
      summary: 'Add a passkey; a first factor comes with recovery codes',
    },
    rename_passkey: {
      ...one,
      method: 'PUT',
      path: `${under}/:id`,
      body: z.object({ name }),
      data: z.object({}),
      summary: 'Give a passkey another name',
    },
    remove_passkey: {
      ...one,
      method: 'POST',
      path: `${under}/:id/end`,
      body: z.object({ current_password }),
      data: z.object({}),
      summary: 'Remove a passkey',
    },
  } as const
}

/** Whether browsers have passkeys for the console: they belong to a name, and an IP address has none. */
export function hasPasskeys(access: Pick<ConsoleAccess, 'public_url'>): boolean {
  return isIP(new URL(originOf(access)).hostname.replace(/^\[|\]$/g, '')) === 0
}

/** The origin of the console, for which its passkeys are. */
export function originOf({ public_url }: Pick<ConsoleAccess, 'public_url'>): string {
  return new URL(public_url()).origin
}
