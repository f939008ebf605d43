import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { type Configuration } from 'oidc-provider'

/** The claims of the person who is at the provider's login page. */
export interface Claims {
  sub: string
  email?: string
  email_verified?: unknown
  name?: string
  groups?: unknown
}

export const CLIENT = { client_id: 'svc', client_secret: 'a secret of the client' } as const

/** A real OIDC provider on this machine. Its login page lets in the person that `person` names, without a question. */
export async function openProvider({ redirect_uri }: { redirect_uri: string }) {
  const people = new Map<string, Claims>()
  let current = ''
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const configuration: Configuration = {
    clients: [{ ...CLIENT, redirect_uris: [redirect_uri], response_types: ['code'] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    cookies: { keys: ['a key of the tests'] },
    async findAccount(_, accountId) {
      const claims = people.get(accountId)
      return claims && { accountId, claims: () => claims as never }
    },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  }
  const provider = new Provider(issuer, configuration)
  const callback = provider.callback()
  server.on('request', async (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return void callback(request, response)
    const { prompt, params, grantId } = await provider.interactionDetails(request, response)
    if (prompt.name === 'login') {
      await provider.interactionFinished(request, response, { login: { accountId: current } })
      return
    }
    const grant = grantId
      ? await provider.Grant.find(grantId)
      : new provider.Grant({ accountId: current, clientId: String(params.client_id) })
    grant?.addOIDCScope('openid email profile')
    const consent = { grantId: (await grant?.save()) ?? '' }
    await provider.interactionFinished(request, response, { consent })
  })
  return {
    issuer,
    /** Chooses the person who is at the login page. */
    person(claims: Claims): void {
      people.set(claims.sub, claims)
      current = claims.sub
    },
    async close(): Promise<void> {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Follows redirects of the provider as a browser does, from `url` to the first address at `until`. */
export async function browse(url: string, until: string): Promise<string> {
  const jar = new Map<string, string>()
  let at = url
  for (let i = 0; i < 10 && !at.startsWith(until); i++) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(at, { redirect: 'manual', headers: { cookie } })
    await answer.arrayBuffer()
    for (const each of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = each.split(';', 1)[0]?.split(/=(.*)/s) ?? []
      jar.set(name, value)
    }
    at = new URL(answer.headers.get('location') ?? '', at).href
  }
  return at
}
