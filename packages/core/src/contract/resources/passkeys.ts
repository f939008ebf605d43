import * as z from 'zod'

/** The id of a credential has at most 1,023 bytes (WebAuthn level 3, 5.1.3). */
const id = base64url(1_364)
const clientDataJSON = base64url(8_192)

/** What `navigator.credentials.create` returned, in the JSON of WebAuthn level 3 (5.1.8). Other fields are ignored. */
export const passkeyRegistration = z.object({
  id,
  response: z.object({ clientDataJSON, attestationObject: base64url(16_384) }),
})

/** What `navigator.credentials.create` returned. */
export type PasskeyRegistration = z.output<typeof passkeyRegistration>

/** What `navigator.credentials.get` returned, in the JSON of WebAuthn level 3 (5.1.8). Other fields are ignored. */
export const passkeyAssertion = z.object({
  id,
  response: z.object({
    clientDataJSON,
    authenticatorData: base64url(8_192),
    signature: base64url(8_192),
  }),
})

/** What `navigator.credentials.get` returned. */
export type PasskeyAssertion = z.output<typeof passkeyAssertion>

function base64url(length: number) {
  return z
    .string()
    .max(length)
    .regex(/^[\w-]+$/)
}
