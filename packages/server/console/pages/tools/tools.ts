/** The tools of `svc dev`, together in one file: apart they are larger. */
export { default as firstSteps } from './first-steps.tsx'
export { default as mails } from './mails.tsx'
export { default as phone } from './phone.tsx'
export { default as requests } from './requests.tsx'
