import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { Viewer } from '../api-keys/viewer.ts'
import type { Actor } from '../audit/entry.ts'
import type { BodyIn, Data, Form, QueryIn } from '../contract/endpoints/endpoint.ts'
import type {
  CodeVerification,
  ExternalCode,
  verifications as endpoints,
  VerificationStats,
} from '../contract/resources/verifications.ts'
import type { IdempotentResult } from '../messages/acceptance.ts'

/** One-time codes of workspaces. A key with the mode `test` sees and checks only its own mode. */
export interface Verifications<F extends Form = 'given'> {
  /**
   * Sends a code to an address. When the promise resolves, the verification, its message and the debit are stored. While a
   * code for the address is pending, the same code is sent again, at the earliest at `next_send_at`.
   * @throws SvcError as a send does; `rate_limit_exceeded` for too many codes to an address or from a network; `forbidden`
   * for a paused country.
   */
  start(
    identity: KeyIdentity,
    request: BodyIn<typeof endpoints.start, F>,
    options?: { idempotency_key?: string | undefined },
  ): Promise<IdempotentResult<Data<typeof endpoints.start>>>
  /**
   * Sends the code of a pending verification again. A repeated request with the same key gets its first answer, and charges
   * nothing. @throws SvcError as `start` does; `not_found`.
   */
  resend(
    identity: KeyIdentity,
    id: string,
    request: BodyIn<typeof endpoints.resend, F>,
    options?: { idempotency_key?: string | undefined },
  ): Promise<IdempotentResult<Data<typeof endpoints.start>>>
  /**
   * Checks a code. One approval ends the verification, and parallel guesses never get more attempts than one after another.
   * @throws SvcError `not_found`, also for a verification that was approved before.
   */
  check(
    identity: KeyIdentity,
    id: string,
    request: BodyIn<typeof endpoints.check, F>,
  ): Promise<Data<typeof endpoints.check>>
  /** Does the same for the newest verification of an address in the last day. */
  checkAddress(
    identity: KeyIdentity,
    request: BodyIn<typeof endpoints.check_address, F>,
  ): Promise<Data<typeof endpoints.check>>
  /**
   * Sends the code of another service, which checks it itself, by SMS. The limits of an address hold, but not the guard against
   * pumping, because approvals are not known here. The same code for the same address is sent once in a day.
   * @throws SvcError as `start` does.
   */
  deliver(
    identity: KeyIdentity,
    request: ExternalCode,
  ): Promise<IdempotentResult<Data<typeof endpoints.start>>>
  /** The secret with which another service signs requests for a key, in the form of Standard Webhooks. */
  hookSecret(identity: Pick<KeyIdentity, 'workspace_id' | 'api_key_id'>): Promise<string>
  /** Ends a pending verification. @throws SvcError `not_found`; `validation_error` if it has ended. */
  cancel(viewer: Viewer, id: string): Promise<CodeVerification>
  /**
   * Approves a pending verification without its code, for a program that identified the person otherwise.
   * @throws SvcError as `cancel` does.
   */
  approve(viewer: Viewer, id: string): Promise<CodeVerification>
  /** One verification, without its code. @throws SvcError `not_found`. */
  get(viewer: Viewer, id: string): Promise<CodeVerification>
  /** Returns one page, newest first, and the total number. */
  list(
    viewer: Viewer,
    query: QueryIn<typeof endpoints.list, F>,
  ): Promise<{ verifications: CodeVerification[]; total: number; next_after: string | null }>
  /**
   * Messages with codes, approvals and credits of the last days, by country, and how far the verifications came. A test key
   * sees no counts of messages, because tests are not counted, and the funnel of the tests.
   */
  stats(viewer: Viewer, query: QueryIn<typeof endpoints.stats, F>): Promise<VerificationStats>
  /** The pauses of countries in the last day: a workspace sends no codes there, because too few of them were approved. */
  pauses(workspaceId: string): Promise<VerificationStats['paused']>
  /** Sends codes to a country for `hours`, whatever the counts are, also if it is paused. `reason`: for the audit log. */
  allow(
    workspaceId: string,
    country: string,
    hours: number,
    actor?: Actor,
    reason?: string,
  ): Promise<void>
}
