import type { OidcPerson } from '@svc/core'
import { ASSIGNED_ROLES, type AssignedRole } from '@svc/core/contract'
import type { Configuration } from 'openid-client'
import type { OidcSettings } from '../settings/oidc.ts'

/** The values that bind an answer of the provider to the browser and the request that asked for it. */
export interface Checks {
  state: string
  nonce: string
  /** The secret of PKCE (RFC 7636). */
  verifier: string
}

/** A client of one OIDC provider: the code flow with PKCE, state and nonce. */
interface OidcClient {
  /** The URL of the provider for a new sign-in, and the checks of its answer. @throws Error if the provider cannot be reached. */
  begin(redirectUri: string): Promise<{ url: string; checks: Checks }>
  /**
   * The person of an answer, after all checks of OpenID Connect Core 3.1.3.7.
   * @throws Error for an answer that fails a check.
   */
  finish(answer: URL, checks: Checks): Promise<OidcPerson>
}

/** A request to the provider takes at most this time: a person waits. */
const REQUEST_MAX_S = 10

/** The values of the role claim that are read; large directories put hundreds of groups into it. */
const VALUES_MAX = 2_000

/** The library and the provider's metadata are loaded at the first sign-in. */
export function createOidcClient(settings: OidcSettings): OidcClient {
  let loading: Promise<Configuration> | null = null

  async function load(): Promise<Configuration> {
    const oidc = await import('openid-client')
    const issuer = new URL(settings.issuer)
    const isPlain = issuer.protocol === 'http:'
    return oidc.discovery(issuer, settings.client_id, settings.client_secret, undefined, {
      timeout: REQUEST_MAX_S,
      // The ID token's signature is checked too, although the token comes from the provider itself.
      execute: [oidc.enableNonRepudiationChecks, ...(isPlain ? [oidc.allowInsecureRequests] : [])],
    })
  }

  function configuration(): Promise<Configuration> {
    loading ??= load().catch((error) => {
      loading = null
      throw error
    })
    return loading
  }

  return {
    async begin(redirectUri) {
      const oidc = await import('openid-client')
      const config = await configuration()
      const checks = {
        state: oidc.randomState(),
        nonce: oidc.randomNonce(),
        verifier: oidc.randomPKCECodeVerifier(),
      }
      const url = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(checks.verifier),
        code_challenge_method: 'S256',
      })
      return { url: url.href, checks }
    },
    async finish(answer, { state, nonce, verifier }) {
      const oidc = await import('openid-client')
      const config = await configuration()
      const tokens = await oidc.authorizationCodeGrant(config, answer, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (!claims) throw new Error('the provider sent no ID token')
      const { userinfo_endpoint } = config.serverMetadata()
      // Many providers put only the subject into the ID token.
      const more = userinfo_endpoint
        ? await oidc.fetchUserInfo(config, tokens.access_token, claims.sub)
        : {}
      return personOf(joined(claims, more), settings)
    },
  }
}

/**
 * The claims of the ID token and of userinfo. The address and its `email_verified` are of one source, because the statement of
 * one says nothing about the address of the other.
 */
export function joined<Claims extends Record<string, unknown>>(
  token: Claims,
  userinfo: Record<string, unknown>,
): Claims & Record<string, unknown> {
  const { email, email_verified } = token.email === undefined ? userinfo : token
  return { ...userinfo, ...token, email, email_verified }
}

/** The person behind verified claims. An address counts only if `email_verified` is true, not a text. */
export function personOf(
  claims: Record<string, unknown> & { iss: string; sub: string },
  { roles }: Pick<OidcSettings, 'roles'>,
): OidcPerson {
  const { iss, sub, email, email_verified, name } = claims
  return {
    issuer: iss,
    subject: sub,
    verified_email: typeof email === 'string' && email_verified === true ? email : null,
    name: typeof name === 'string' ? name : null,
    assigned: roles && {
      workspace_id: roles.workspace_id,
      role: roleOf(claims[roles.claim], roles.by_value),
    },
  }
}

/** The role with the most rights among the values of a claim. */
function roleOf(claim: unknown, byValue: ReadonlyMap<string, AssignedRole>): AssignedRole | null {
  const values = (Array.isArray(claim) ? claim : [claim]).slice(0, VALUES_MAX)
  const roles = new Set(values.map((value) => byValue.get(value as string)))
  return ASSIGNED_ROLES.find((role) => roles.has(role)) ?? null
}
