export { default as audit } from './audit/audit.tsx'
export { default as credits } from './credits/credits.tsx'
export { default as settings } from './settings/settings.tsx'
export { default as team } from './team/team.tsx'
