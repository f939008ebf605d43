import {
  createProviderClient,
  type ProviderAnswer,
  type ProviderClientOptions,
} from '../http-client.ts'
import type { TwilioSettings } from './settings.ts'

const API_URL = 'https://api.twilio.com'
const VERSION = '2010-04-01'

/** A full page of long texts is larger than other answers. */
const BODY_MAX = 4 * 1024 * 1024

/** The resources that sending goes to. */
export type Resource = 'Messages' | 'Calls'

/** Twilio's REST API as one account sees it. Nothing is tried twice, nothing throws. */
export interface TwilioApi {
  /** Makes one of a resource. */
  create(resource: Resource, form: URLSearchParams): Promise<ProviderAnswer>
  /** Reads what is at a path below the account, such as `/Messages.json?PageSize=1`; empty: the account. */
  read(path: string): Promise<ProviderAnswer>
  /** The path below the account that a page names as the next one; null for any other place. */
  pathOf(uri: string): string | null
  close(): Promise<void>
}

/** A client for the account of the settings; at most as many calls at once as the HTTP client has connections. */
export function createTwilioApi(
  settings: TwilioSettings,
  options: ProviderClientOptions = {},
): TwilioApi {
  const { account_sid, auth_token, api_key_sid, api_key_secret } = settings
  const account = `/${VERSION}/Accounts/${account_sid}`
  const base = `${settings.api_url ?? API_URL}${account}`
  const user = api_key_sid ?? account_sid
  const password = api_key_secret ?? auth_token
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  const http = createProviderClient({ body_max: BODY_MAX, ...options })
  return {
    create: (resource, form) =>
      http.call({
        method: 'POST',
        url: `${base}/${resource}.json`,
        headers: {
          authorization,
          accept: 'application/json',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: form.toString(),
      }),
    read: (path) =>
      http.call({
        method: 'GET',
        url: path === '' ? `${base}.json` : `${base}${path}`,
        headers: { authorization, accept: 'application/json' },
      }),
    // Whoever could name another place would be given the credentials there.
    pathOf: (uri) =>
      /^[!-~]{1,4000}$/.test(uri) && uri.startsWith(`${account}/`)
        ? uri.slice(account.length)
        : null,
    close: () => http.close(),
  }
}
