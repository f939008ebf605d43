/** More than a run can spend. */
export const SIGNUP_CREDITS = 100_000_000

/** Each limit is counted, and none is reached. */
const NO_LIMIT = '999999999/60'

/** The settings of a service of a proof: a free port, limits out of reach, webhooks to loopback. */
export function settingsOf(folder: string): Record<string, string> {
  return {
    HOST: '127.0.0.1',
    PORT: '0',
    SVC_DATA_DIR: folder,
    SVC_RATE_LIMIT_GENERAL: NO_LIMIT,
    SVC_RATE_LIMIT_BULK: NO_LIMIT,
    SVC_RATE_LIMIT_ANONYMOUS: NO_LIMIT,
    SVC_RATE_LIMIT_AUTH: NO_LIMIT,
    SVC_RATE_LIMIT_FAILED_AUTH: NO_LIMIT,
    SVC_TEST_MESSAGES_PER_DAY: '9999999',
    SVC_TEST_BYTES_PER_DAY: '999999999999',
    SVC_SIGNUP_CREDITS: String(SIGNUP_CREDITS),
    SVC_WEBHOOK_ALLOW_HTTP: 'true',
    SVC_WEBHOOK_ALLOW_NETS: '127.0.0.0/8',
  }
}
