/** The recipients of the sandbox that decide the outcome, with the outcome. */
export const RECIPIENTS = [
  ['+15005550006', 'sent, delivered'],
  ['+15005550008', 'delivered, then a reply'],
  ['+15005550001', 'failed: invalid_recipient'],
  ['+15005550002', 'failed: unroutable'],
  ['+15005550004', 'failed: opted_out'],
  ['+15005550005', 'sent, delivered after 30 s'],
  ['+15005550007', 'sent, then failed: undelivered'],
  ['+15005550009', 'a temporary error, then delivered'],
  ['delivered@sandbox.svc', 'sent, delivered'],
  ['invalid@sandbox.svc', 'failed: invalid_recipient'],
  ['bounced@sandbox.svc', 'sent, then failed: bounced'],
] as const
