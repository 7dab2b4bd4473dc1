import { useLongTimeouts } from './patience'

if (process.env.TEST_PATIENCE !== 'real') useLongTimeouts()
await import('../../src/main')
