import { Svc } from '@svc/client'

/** Calls the API of a test service. */
export interface Caller {
  /**
   * Calls an endpoint and returns its `data`. The default credential is the API key; `as: 'owner'`
   * uses the owner's session.
   * @throws Error with the API's status, code and message when the API refuses.
   */
  call(
    method: string,
    path: string,
    body?: object,
    options?: { as?: 'api_key' | 'owner'; headers?: Readonly<Record<string, string>> },
  ): Promise<Record<string, unknown>>
}

const OWNER = { email: 'owner@svc.test', password: 'the password of the owner' }

const SCOPES = ['send_messages', 'read_messages', 'manage_contacts', 'manage_webhooks'] as const

/** Creates a workspace with a logged-in owner and an API key of all scopes. */
export async function createCaller(
  url: string,
): Promise<Caller & { workspace_id: string; api_key: string }> {
  async function request(method: string, path: string, body: object | undefined, headers: object) {
    const json = body && { 'content-type': 'application/json' }
    const response = await fetch(new URL(path, url), {
      method,
      headers: { ...json, ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as Answer
    if (response.ok) return { status: response.status, data: answer.data ?? {}, text: '' }
    const { error, message } = answer
    const text = `${method} ${path} returned ${response.status} ${error}: ${message}`
    return { status: response.status, data: {}, text }
  }

  async function requestOrThrow(
    ...options: Parameters<typeof request>
  ): Promise<Record<string, unknown>> {
    const { data, text } = await request(...options)
    if (text) throw new Error(text)
    return data
  }

  const { workspaces } = new Svc({ baseUrl: url })
  const login = async () => (await workspaces.login(OWNER)).token
  const { workspace } = await workspaces.signup({ ...OWNER, company_name: 'Test Ltd' })
  let token = await login()
  const { apiKeys } = new Svc({ baseUrl: url, token })
  const { key: api_key } = await apiKeys.create({ name: 'test', scopes: [...SCOPES] })
  const owner = () => ({ authorization: `Bearer ${token}` })

  return {
    workspace_id: workspace.id,
    api_key,
    async call(method, path, body, { as = 'api_key', headers = {} } = {}) {
      if (as === 'api_key')
        return requestOrThrow(method, path, body, { ...headers, 'x-api-key': api_key })
      const first = await request(method, path, body, { ...headers, ...owner() })
      if (!first.text) return first.data
      if (first.status !== 401) throw new Error(first.text)
      // The session has expired if the clock moved far.
      token = await login()
      return requestOrThrow(method, path, body, { ...headers, ...owner() })
    },
  }
}

interface Answer {
  data?: Record<string, unknown>
  error?: string
  message?: string
}
