import { haveLongPatience } from './patience'

// The program as tests build it (process.ts).
if (process.env.TEST_PATIENCE !== 'real') haveLongPatience()
await import('../../src/main')
