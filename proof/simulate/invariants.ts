import { FAULTS, FAULTS_AT_WORK } from '../stage/rules.ts'
import { checkBegun, checkOutcomes } from './invariants/attempts.ts'
import { checkCodes } from './invariants/codes.ts'
import { checkCalls, checkLedger, checkMoney, checkPrices } from './invariants/credits.ts'
import { checkDelivering, checkEvents, checkPosts, checkRetries } from './invariants/deliveries.ts'
import { checkLimits } from './invariants/limits.ts'
import { checkBroadcasts, checkOptOuts, checkPaused, checkQuiet } from './invariants/mailings.ts'
import { checkMails, checkPeople } from './invariants/people.ts'
import { checkAnswers } from './invariants/requests.ts'
import { checkRows, type MessageRow, type Stage } from './invariants/rows.ts'
import { checkEnds, checkStatuses } from './invariants/statuses.ts'

// Each invariant has the name of the promise that it checks; `docs/concepts/guarantees.md` explains the promises. Those that a
// provider, a receiver or a client sees in a moment are called there.

/** What must hold at any moment. */
export function checkMoment(stage: Stage): void {
  checkStatuses(stage)
  checkBegun(stage)
  checkRetries(stage)
  checkDelivering(stage)
  checkLimits(stage)
  checkPaused(stage)
  checkRows(stage, FAULTS_AT_WORK)
}

/** What must hold when faults have ended and everything had time to end. */
export function checkAll(stage: Stage): void {
  checkMoment(stage)
  const { database } = stage
  const messages = database.prepare('select * from messages').all() as MessageRow[]
  checkAnswers(stage, messages)
  checkRows(stage, FAULTS)
  checkLedger(stage)
  checkMoney(stage, messages)
  checkPrices(stage, messages)
  checkCalls(stage, messages)
  checkMails(stage, messages)
  checkEnds(stage, messages)
  checkOutcomes(stage)
  checkEvents(stage, messages)
  checkPosts(stage)
  checkPeople(stage)
  checkCodes(stage, messages)
  checkBroadcasts(stage)
  checkOptOuts(stage, messages)
  checkQuiet(stage, messages)
}
