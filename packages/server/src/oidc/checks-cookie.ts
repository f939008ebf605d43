import type { Checks } from './client.ts'

/** A sign-in at the provider may take this long. */
const LIFETIME_S = 10 * 60

const FORM = /^[\w-]{1,200}$/

/**
 * The cookie that keeps the checks of a sign-in in the browser that began it. With https its name has the prefix `__Host-`,
 * so that no other host of the domain can set it: otherwise such a host could sign a person in as another one.
 */
export function checksCookie({ secure }: { secure: boolean }) {
  const name = secure ? '__Host-svc_oidc' : 'svc_oidc'
  const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
  return {
    /** The header `Set-Cookie` that keeps the checks. */
    set: ({ state, nonce, verifier }: Checks) =>
      `${name}=${[state, nonce, verifier].join('.')}; Max-Age=${LIFETIME_S}; ${attributes}`,
    /** The header `Set-Cookie` that removes the checks. */
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
    /** The checks in the header `Cookie`; null if there are none. */
    read(header: string | undefined): Checks | null {
      const cookie = header?.split('; ').find((each) => each.startsWith(`${name}=`))
      const [state = '', nonce = '', verifier = '', ...rest] =
        cookie?.slice(name.length + 1).split('.') ?? []
      const isWhole = rest.length === 0 && [state, nonce, verifier].every((one) => FORM.test(one))
      return isWhole ? { state, nonce, verifier } : null
    },
  }
}
