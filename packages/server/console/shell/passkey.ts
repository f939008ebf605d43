import { t } from './text.ts'

interface Id {
  id: string
}

type List = 'excludeCredentials' | 'allowCredentials'

/** The options of the service for `navigator.credentials`, in JSON. */
export interface PasskeyOptions {
  options: Record<string, unknown> & { challenge: string; user?: Id } & { [Key in List]?: Id[] }
}

/** Whether this browser has passkeys for this page. They belong to a name: a page at an IP address has none. */
export const hasPasskeys =
  typeof PublicKeyCredential === 'function' &&
  /[a-z]/i.test(location.hostname.split('.').at(-1) ?? '')

/** Makes a passkey. @throws Error if the person refuses. */
export async function createPasskey({ options }: PasskeyOptions): Promise<object> {
  const parse = PublicKeyCredential.parseCreationOptionsFromJSON as Parse
  return asked(navigator.credentials.create({ publicKey: parse?.(options) ?? parsed(options) }))
}

/** Signs with a passkey. @throws Error if the person refuses. */
export async function usePasskey({ options }: PasskeyOptions): Promise<object> {
  const parse = PublicKeyCredential.parseRequestOptionsFromJSON as Parse
  return asked(navigator.credentials.get({ publicKey: parse?.(options) ?? parsed(options) }))
}

/** The options of `create` or of `get`: the service has made them for the one that is called. */
type Options = PublicKeyCredentialCreationOptions & PublicKeyCredentialRequestOptions

/** Old browsers do not have it. */
type Parse = ((json: object) => Options) | undefined

function parsed(options: PasskeyOptions['options']): Options {
  const { challenge, user, excludeCredentials = [], allowCredentials = [] } = options
  const withBytes = (one: Id) => ({ ...one, id: bytesOf(one.id) })
  return {
    ...options,
    challenge: bytesOf(challenge),
    ...(user && { user: withBytes(user) }),
    excludeCredentials: excludeCredentials.map(withBytes),
    allowCredentials: allowCredentials.map(withBytes),
  } as object as Options
}

async function asked(answer: Promise<Credential | null>): Promise<object> {
  const credential = (await answer.catch(() => null)) as PublicKeyCredential | null
  if (!credential) {
    throw new Error(t('No passkey was used. Try again, or enter the password first.'))
  }
  const response: Record<string, string> = {}
  const given = credential.response as unknown as Record<string, ArrayBuffer | undefined>
  for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature']) {
    const bytes = given[name]
    if (bytes) response[name] = textOf(bytes)
  }
  return { id: credential.id, response }
}

function bytesOf(text: string): Uint8Array {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(plain, (one) => one.charCodeAt(0))
}

function textOf(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
