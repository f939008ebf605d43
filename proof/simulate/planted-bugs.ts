/** A defect that the simulation must find. Each text is in its file exactly once. */
export interface PlantedBug {
  name: string
  /** What users notice. */
  breaks: string
  changes: readonly Change[]
}

/** `file` is below `packages/core/src/`. Several changes: a second layer would hide the defect. */
interface Change {
  file: string
  find: string
  replace: string
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'refund-twice',
    breaks: 'A message that no provider accepted is refunded twice.',
    changes: [
      {
        file: 'rules/money.ts',
        find: `  if (amount <= 0) return
  book(step, {`,
        replace: `  if (amount <= 0) return
  for (const n of [0, 1]) book(step, {`,
      },
      {
        file: 'rules/money.ts',
        find: `reference: { type: 'message', id: message.id, n: 0 },`,
        replace: `reference: { type: 'message', id: message.id, n },`,
      },
    ],
  },
  {
    name: 'answer-before-commit',
    breaks: 'Clients get their answers before the commit, which may fail.',
    changes: [
      {
        file: 'storage/sqlite/engine/writer.ts',
        find: `      commit.run()
      flush_ms = elapsed() - flushing
      for (const answer of answers) answer()`,
        replace: `      for (const answer of answers) answer()
      commit.run()
      flush_ms = elapsed() - flushing`,
      },
    ],
  },
  {
    name: 'hand-over-before-commit',
    breaks: 'Work is handed to the lanes before the commit, which may fail.',
    changes: [
      {
        file: 'storage/sqlite/engine/writer.ts',
        find: `      const flushing = elapsed()
      commit.run()`,
        replace: `      const flushing = elapsed()
      for (const { work } of afterwards.splice(0)) work()
      commit.run()`,
      },
    ],
  },
  {
    name: 'savepoint-not-undone',
    breaks: 'A job that failed in the middle leaves its first writes in the commit.',
    changes: [
      {
        file: 'storage/sqlite/engine/writer.ts',
        find: `        undo.run()
        release.run()`,
        replace: '        release.run()',
      },
    ],
  },
  {
    name: 'claim-without-lease',
    breaks: 'A claim takes messages whose lease has not ended.',
    changes: [
      {
        file: 'storage/sqlite/verbs/claim-messages.ts',
        find: 'where due_at <= $now and (token is null or $takes_over) order',
        replace:
          'where (due_at <= $now or token is not null) and (token is null or $takes_over) order',
      },
    ],
  },
  {
    name: 'lease-of-1-s',
    breaks: 'Leases end after one second, while the provider is still being called.',
    changes: [
      {
        file: 'storage/sqlite/verbs/claim-messages.ts',
        find: 'new Date(now.getTime() + lease_ms)',
        replace: 'new Date(now.getTime() + 1_000)',
      },
      {
        file: 'rules/claim.ts',
        find: 'new Date(now.getTime() + lease_ms)',
        replace: 'new Date(now.getTime() + 1_000)',
      },
    ],
  },
  {
    name: 'settle-without-fence',
    breaks: 'The outcome of a lost claim settles the message that another claim holds.',
    changes: [
      {
        file: 'rules/settle.ts',
        find: 'settlement.token !== null && queued.token === settlement.token',
        replace: 'settlement.token !== null',
      },
    ],
  },
  {
    name: 'attempt-not-journalled',
    breaks: 'Only the first attempt of a message is journalled before its call.',
    changes: [
      {
        file: 'storage/sqlite/verbs/claim-messages.ts',
        find: 'for (const attempt of plan.attempts) journal(attempt)',
        replace: 'for (const attempt of plan.attempts) if (attempt.number === 1) journal(attempt)',
      },
    ],
  },
  {
    name: 'attempt-number-reused',
    breaks: 'Each further attempt overwrites the journal of the first.',
    changes: [
      {
        file: 'rules/claim.ts',
        find: 'provider === null ? found.attempt : found.attempt + 1',
        replace: 'provider === null ? found.attempt : 1',
      },
      {
        file: 'storage/sqlite/verbs/claim-messages.ts',
        find: 'insertInto(connection, t.message_attempts)',
        replace: 'insertInto(connection, t.message_attempts, { replacing: true })',
      },
    ],
  },
  {
    name: 'held-work-forgotten',
    breaks: 'Lost wake-up: messages that were handed over behind older ones are never begun.',
    changes: [
      {
        file: 'dispatch/lane.ts',
        find: '      if (isCatchingUp) beginHeld(claims)\n',
        replace: '',
      },
    ],
  },
  {
    name: 'poll-forgotten',
    breaks: 'Lost wake-up: retries and schedules that fall due wait until other work arrives.',
    changes: [
      {
        file: 'dispatch/lane.ts',
        find: 'const timer = setTimeout(resolve, ms)',
        replace: 'const timer = setTimeout(resolve, 2 ** 31 - 1)',
      },
    ],
  },
  {
    name: 'outcome-not-stored-again',
    breaks: 'The outcome of a call is lost if its first write fails.',
    changes: [
      {
        file: 'dispatch/lane.ts',
        find: '    await Promise.all(items.map((item) => persistOne(item, write, log)))\n',
        replace: '',
      },
    ],
  },
  {
    name: 'pause-ignored-by-hand-over',
    breaks: 'New messages are sent during a pause of the dispatch.',
    changes: [
      {
        file: 'dispatch/lane.ts',
        find: 'if (stopping || gate.is_paused || !(mayPass',
        replace: 'if (stopping || !(mayPass',
      },
      {
        file: 'dispatch/performer.ts',
        find: 'values[DISPATCH_UNTIL] = is_paused ? 0 : read_at_ms + FRESH_MS',
        replace: 'values[DISPATCH_UNTIL] = read_at_ms + FRESH_MS',
      },
    ],
  },
  {
    name: 'provider-pause-ignored',
    breaks: 'Messages are sent through a provider that the operator paused.',
    changes: [
      {
        file: 'dispatch/routing.ts',
        find: '        if (!pauses.allows(provider, sender)) continue\n',
        replace: '',
      },
      {
        file: 'dispatch/message-calls.ts',
        find: 'routing.isStopped(provider, job.sender) ? NOT_CALLED : outcome',
        replace: 'outcome',
      },
      {
        file: 'dispatch/performer.ts',
        find: 'values[place] = isPaused(name) ? 1 : 0',
        replace: 'values[place] = 0',
      },
    ],
  },
  {
    name: 'schedule-ignored',
    breaks: 'A scheduled message is sent at once.',
    changes: [
      {
        file: 'rules/claim.ts',
        find: 'due_at: message.scheduled_at ?? message.created_at,',
        replace: 'due_at: message.created_at,',
      },
    ],
  },
  {
    name: 'expiry-ignored',
    breaks: 'A message is sent after its expiry.',
    changes: [
      {
        file: 'dispatch/message-lane.ts',
        find: 'if (expires_at && expires_at <= runtime.now()) {',
        replace: 'if (expires_at && expires_at.getTime() === 0) {',
      },
    ],
  },
  {
    name: 'delay-of-provider-ignored',
    breaks: 'A provider that asked to wait gets the message again after one second.',
    changes: [
      {
        file: 'rules/settle-send.ts',
        find: 'return Math.min(Math.max(delay_ms, DELAY_MIN_MS), DELAY_MAX_MS)',
        replace: 'return DELAY_MIN_MS',
      },
    ],
  },
  {
    name: 'ambiguous-sent-again',
    breaks: 'A message with an unknown outcome is sent again, and may arrive twice.',
    changes: [
      {
        file: 'rules/settle-send.ts',
        find: '    doubt(step, attempt, outcome)',
        replace: '    retry(step, attempt, { ...outcome, delay_ms: null })',
      },
    ],
  },
  {
    name: 'unknown-outcome-refunded',
    breaks: 'A message with an unknown outcome is refunded although its provider may have it.',
    changes: [
      {
        file: 'rules/step.ts',
        find: `  if (step.queued?.unknown_since) failUnknown(step, text)
  else failKnown(step, code, text)`,
        replace: '  failKnown(step, code, text)',
      },
    ],
  },
  {
    name: 'not-found-trusted-at-once',
    breaks: 'A message is sent again while its first request may still be on its way.',
    changes: [
      {
        file: 'rules/settle-reports.ts',
        find: `found.type === 'not_found' && (found.certain || waited >= NOT_FOUND_MIN_MS)`,
        replace: `found.type === 'not_found' && waited >= 0`,
      },
    ],
  },
  {
    name: 'cancel-after-hand-over',
    breaks: 'A message is canceled and refunded while a worker sends it.',
    changes: [
      {
        file: 'rules/settle.ts',
        find: 'queued !== null && queued.token === null && queued.unknown_since === null',
        replace: 'queued !== null && queued.unknown_since === null',
      },
    ],
  },
  {
    name: 'stranger-cancels',
    breaks: 'A workspace can read and cancel the messages of another workspace.',
    changes: [
      {
        file: 'storage/stores/messages.ts',
        find: 'const mine = and(eq(t.workspace_id, workspaceId), eq(t.id, messageId))',
        replace: 'const mine = eq(t.id, messageId)',
      },
      {
        file: 'storage/sqlite/verbs/settle.ts',
        find: `namesOf(t.messages, 'content'),
    'workspace_id = ? and id = ?',`,
        replace: `namesOf(t.messages, 'content'),
    "? <> '' and id = ?",`,
      },
      {
        file: 'rules/settle.ts',
        find: 'if (!found || found.workspace_id !== settlement.workspace_id) {',
        replace: 'if (!found) {',
      },
    ],
  },
  {
    name: 'receipt-moves-backwards',
    breaks: 'A late receipt turns a delivered message into a failed one.',
    changes: [
      {
        file: 'rules/settlement.ts',
        find: `return reported === 'read' ? ['read'] : []`,
        replace: `return reported === 'read' || reported === 'failed' ? [reported] : []`,
      },
    ],
  },
  {
    name: 'early-receipt-ignored',
    breaks: 'A receipt that arrives before the answer of the provider is lost.',
    changes: [
      {
        file: 'rules/settle-reports.ts',
        find: 'for (const receipt of callback.receipts) applyReceipt(step, receipt)',
        replace:
          "if (step.message.status !== 'queued') for (const receipt of callback.receipts) applyReceipt(step, receipt)",
      },
    ],
  },
  {
    name: 'read-without-delivered',
    breaks: 'A message becomes read without the event message.delivered.',
    changes: [
      {
        file: 'rules/settlement.ts',
        find: `      if (reported === 'sent') return []
      return reported === 'read' ? ['delivered', 'read'] : [reported]`,
        replace: `      return reported === 'sent' ? [] : [reported]`,
      },
    ],
  },
  {
    name: 'sequence-reused',
    breaks: 'Two events of a message have the same sequence number.',
    changes: [
      {
        file: 'rules/step.ts',
        find: `  message.sequence += 1
  message.updated_at = at`,
        replace: `  if (status !== 'delivered') message.sequence += 1
  message.updated_at = at`,
      },
    ],
  },
  {
    name: 'event-lost-after-commit',
    breaks: 'Events are written after the commit of their change; a crash in between loses them.',
    changes: [
      {
        file: 'storage/sqlite/verbs/settle.ts',
        find: '    write({ ...plan, delivery_queue: queue })',
        replace: `    const { events, deliveries } = plan
    write({ ...plan, events: [], deliveries: [], delivery_queue: [] })
    const none = Object.fromEntries(Object.keys(plan).map((name) => [name, []])) as never as SettlePlan
    afterCommit(() => write({ ...none, events, deliveries, delivery_queue: queue }))`,
      },
    ],
  },
  {
    name: 'mode-of-webhook-ignored',
    breaks: 'A webhook for live messages gets the events of test messages.',
    changes: [
      {
        file: 'rules/deliveries.ts',
        find: "  if (mode !== 'all' && (mode === 'live') !== livemode) return false\n",
        replace: '',
      },
      {
        file: 'storage/sqlite/verbs/claim-deliveries.ts',
        find: "(w.is_active and (w.mode = 'all' or",
        replace: "(w.is_active and (1 or w.mode = 'all' or",
      },
    ],
  },
  {
    name: 'disabled-webhook-served',
    breaks: 'A webhook that its owner disabled gets the retries of its deliveries.',
    changes: [
      {
        file: 'storage/sqlite/verbs/claim-deliveries.ts',
        find: "(w.is_active and (w.mode = 'all' or",
        replace: "(1 and (w.mode = 'all' or",
      },
    ],
  },
  {
    name: 'secret-of-another-workspace',
    breaks: 'Deliveries are signed with the secret of another workspace.',
    changes: [
      {
        file: 'storage/sqlite/verbs/claim-deliveries.ts',
        find: '            w.secret, case when',
        replace:
          '            (select s.secret from webhooks s where s.workspace_id <> w.workspace_id order by s.id limit 1) as secret, case when',
      },
    ],
  },
  {
    name: 'delivery-not-dequeued',
    breaks: 'An acknowledged delivery is sent again after each lease.',
    changes: [
      {
        file: 'rules/record.ts',
        find: `    plan.dequeue.push(before.id)
    return { ...after, status: 'delivered'`,
        replace: `    return { ...after, status: 'delivered'`,
      },
    ],
  },
  {
    name: 'delivery-retry-off-by-one',
    breaks: 'A delivery skips the first retry of the schedule, and gets 11 attempts and not 12.',
    changes: [
      {
        file: 'rules/delivery-times.ts',
        find: 'WEBHOOK_RETRY_DELAYS_S[attempt]',
        replace: 'WEBHOOK_RETRY_DELAYS_S[attempt + 1]',
      },
    ],
  },
  {
    name: 'key-stored-without-debit',
    breaks: 'A refused request is answered with 201 when it is repeated.',
    changes: [
      {
        file: 'rules/accept.ts',
        find: '  const refused = request.debit && charge(',
        replace: '  remember(request, batch)\n  const refused = request.debit && charge(',
      },
      {
        file: 'rules/accept.ts',
        find: 'request.broadcast, batch)\n  remember(request, batch)',
        replace: 'request.broadcast, batch)',
      },
    ],
  },
  {
    name: 'overdraft',
    breaks: 'A workspace can spend more than it has with its last request.',
    changes: [
      {
        file: 'rules/decide.ts',
        find: 'if (available - required < -account.credit_limit) {',
        replace: 'if (available <= -account.credit_limit) {',
      },
    ],
  },
  {
    name: 'daily-limit-checked-late',
    breaks: 'A workspace can exceed its daily limit with the last request of the day.',
    changes: [
      {
        file: 'rules/decide.ts',
        find: 'return spent + required > limit',
        replace: 'return spent >= limit',
      },
    ],
  },
  {
    name: 'wrong-day-boundary',
    breaks: 'The day of a daily limit begins at noon and not at midnight UTC.',
    changes: [
      {
        file: 'rules/decide.ts',
        find: 'return Math.floor(at.getTime() / DAY_MS)',
        replace: 'return Math.round(at.getTime() / DAY_MS)',
      },
    ],
  },
  {
    name: 'frozen-workspace-spends',
    breaks: 'A frozen workspace can send.',
    changes: [
      {
        file: 'rules/decide.ts',
        find: "  if (account.status !== 'active') return { ok: false, reason: 'account_frozen' }\n",
        replace: '',
      },
    ],
  },
  {
    name: 'grant-booked-twice',
    breaks: 'A grant that is repeated with the same id gives its credits again.',
    changes: [
      {
        file: 'credits/bookings.ts',
        find: "reference: { type: 'grant', id: id ?? runtime.id(), n: 0 }",
        replace:
          "reference: { type: 'grant', id: id ?? runtime.id(), n: runtime.now().getTime() % 1_000 }",
      },
    ],
  },
  {
    name: 'counts-wrong',
    breaks: 'The counts of messages keep a message under its earlier status.',
    changes: [
      {
        file: 'rules/count-changes.ts',
        find: '    if (change.from) addOne(change, change.from, -1)',
        replace: "    if (change.from === 'queued') addOne(change, change.from, -1)",
      },
    ],
  },
  {
    name: 'revoked-key-known',
    breaks: 'A revoked key is accepted for as long as the process knows it.',
    changes: [
      {
        file: 'api-keys/api-keys.ts',
        find: '      if (version !== knownVersion) known.clear()\n',
        replace: '',
      },
    ],
  },
  {
    name: 'call-settled-again',
    breaks: 'A second report of the duration of a call is charged too.',
    changes: [
      {
        file: 'rules/holds.ts',
        find: '  if (standing) {\n',
        replace: '  if (standing && open.length > 0) {\n',
      },
    ],
  },
  {
    name: 'call-over-its-hold',
    breaks: 'A call costs more than the credits that were held for it.',
    changes: [
      {
        file: 'rules/money.ts',
        find: 'const cost = units(Math.min(spoken, hold.held_delta))',
        replace: 'const cost = units(spoken)',
      },
    ],
  },
  {
    name: 'expired-hold-charged',
    breaks: 'A call without a report shows its held credits as used after they were returned.',
    changes: [
      {
        file: 'credits/holding.ts',
        find: 'if (resolutions.length > 0 && isReleased(about, resolutions)) voided.push(messageId)',
        replace: '',
      },
    ],
  },
  {
    name: 'hold-kept-after-failure',
    breaks: 'The credits of a call that no provider took stay held.',
    changes: [
      {
        file: 'rules/step.ts',
        find: "if (!message.accepted || message.channel === 'voice') giveBack(step)",
        replace: "if (!message.accepted && message.channel !== 'voice') giveBack(step)",
      },
    ],
  },
  {
    name: 'shares-of-bounces-refunded',
    breaks: 'The share of a recipient whose mail was accepted and then bounced is refunded.',
    changes: [
      {
        file: 'rules/recipients.ts',
        find: "recipients.filter(({ status, accepted }) => status === 'failed' && !accepted)",
        replace: "recipients.filter(({ status }) => status !== 'sent')",
      },
    ],
  },
  {
    name: 'all-recipients-again',
    breaks: 'A mail that some recipients have already is sent to all of them again.',
    changes: [
      {
        file: 'dispatch/message-calls.ts',
        find: 'is_due: isDue(one) && !left_out.includes(address)',
        replace: 'is_due: !left_out.includes(address)',
      },
    ],
  },
  {
    name: 'complaint-of-first-recipient',
    breaks: 'The complaint of one recipient suppresses the first recipient of the mail.',
    changes: [
      {
        file: 'rules/settle-reports.ts',
        find: 'if (named.has(emailKey(address))) suppress(step, reason, address)',
        replace: 'if (named.size > 0) suppress(step, reason, recipients[0]?.address ?? address)',
      },
    ],
  },
  {
    name: 'failed-recipients-told-twice',
    breaks: 'The failure of all recipients of a mail is announced twice.',
    changes: [
      {
        file: 'rules/step.ts',
        find: 'for (const group of hasFailed ? groups.slice(1) : groups) {',
        replace: 'for (const group of hasFailed ? groups : groups) {',
      },
    ],
  },
  {
    name: 'left-out-after-unknown-refunded',
    breaks:
      'A recipient who complained about a mail with an unknown outcome has it, and its share is refunded.',
    changes: [
      {
        file: 'rules/recipients.ts',
        find: "accepted: result.error_code === 'outcome_unknown'",
        replace: 'accepted: false',
      },
    ],
  },
  {
    name: 'pending-domain-used',
    breaks: 'A mail is sent from a domain whose record was never found.',
    changes: [
      {
        file: 'rules/sending-domain.ts',
        find: "  return row.status === 'failing' && !isOver(row.failing_since, now)",
        replace: "  return row.status !== 'failed' && !isOver(row.failing_since, now)",
      },
    ],
  },
  {
    name: 'code-right-again',
    breaks: 'A one-time code is right as often as it is given.',
    changes: [
      {
        file: 'rules/verify.ts',
        find: "return { status: 'approved', changed: ended(row, 'approved', at), count }",
        replace: "return { status: 'approved', changed: { ...row, updated_at: at }, count }",
      },
    ],
  },
  {
    name: 'guesses-not-counted',
    breaks: 'A code can be guessed without an end.',
    changes: [
      {
        file: 'rules/verify.ts',
        find: 'attempts: row.attempts + 1',
        replace: 'attempts: row.attempts',
      },
    ],
  },
  {
    name: 'expired-code-right',
    breaks: 'A code is right after its time, until the sweeper looks.',
    changes: [
      {
        file: 'rules/verify.ts',
        find: "return status === 'pending' && at < expires_at",
        replace: "return status === 'pending' && at.getTime() < expires_at.getTime() + 600_000",
      },
    ],
  },
  {
    name: 'code-limit-off-by-one',
    breaks: 'An address gets six codes in an hour.',
    changes: [
      {
        file: 'rules/verify.ts',
        find: 'const oldest = sent[max - 1]',
        replace: 'const oldest = sent[max]',
      },
    ],
  },
  {
    name: 'search-of-whole-words',
    breaks: 'A search finds no contact by the beginning of its name.',
    changes: [
      {
        file: 'rules/contact-words.ts',
        find: 'own.some((one) => one.startsWith(word))',
        replace: 'own.includes(word)',
      },
    ],
  },
  {
    name: 'opt-out-text-forgotten',
    breaks: 'A marketing SMS does not say how to end them.',
    changes: [
      {
        file: 'rules/marketing-texts.ts',
        find: "if (channel === 'sms' && sms_opt_out_text !== null) {",
        replace: "if (channel === 'sms' && sms_opt_out_text === '') {",
      },
    ],
  },
]
