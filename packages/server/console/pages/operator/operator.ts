/** The pages of operators, with the names that `pages.ts` uses. */
export { default as operatorAudit } from './audit.tsx'
export { default as operatorBooks } from './books.tsx'
export { default as operatorOverview } from './overview.tsx'
export { default as operatorProviders } from './providers.tsx'
export { default as operatorPurchases } from './purchases.tsx'
export { default as operatorQueues } from './queues.tsx'
export { default as operatorSettings } from './settings.tsx'
export { default as operatorWorkspaces } from './workspaces.tsx'
