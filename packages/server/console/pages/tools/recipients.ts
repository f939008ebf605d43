import { t } from '../../shell/text.ts'
/** The recipients of the sandbox that decide the outcome, with the outcome. */
export const RECIPIENTS = [
  ['+15005550006', t('sent, delivered')],
  ['+15005550008', t('delivered, then a reply')],
  ['+15005550001', t('failed: invalid_recipient')],
  ['+15005550002', t('failed: unroutable')],
  ['+15005550004', t('failed: opted_out')],
  ['+15005550005', t('sent, delivered after 30 s')],
  ['+15005550007', t('sent, then failed: undelivered')],
  ['+15005550009', t('a temporary error, then delivered')],
  ['delivered@sandbox.svc', t('sent, delivered')],
  ['invalid@sandbox.svc', t('failed: invalid_recipient')],
  ['bounced@sandbox.svc', t('sent, then failed: bounced')],
] as const
