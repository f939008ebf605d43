/** The checks of `svc doctor`, which the console of operators runs too. */
export { checkDatabase, checkLedger, checkReplicas } from './database-check.ts'
export { type Finding, findingsOf, reasonOf } from './finding.ts'
export { checkBackups, checkFolder, checkProgram } from './machine-check.ts'
export {
  checkDomains,
  checkProviders,
  checkSecrets,
  checkVerifications,
  checkWebhooks,
  checkWork,
} from './service-check.ts'
