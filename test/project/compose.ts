import { load } from 'js-yaml';
import { read } from './project';

/** docker-compose.yml as the tests read it: anchors and merges resolved, `${...}` as written. */

export interface Service {
  image?: string;
  build?: { context: string; args: Record<string, string> };
  user?: string;
  entrypoint?: string[];
  command?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  ports?: string[];
  networks: string[];
  restart: string;
  profiles?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  logging?: { options: Record<string, string> };
  healthcheck?: { test: string[]; interval: string; timeout: string; retries: number; start_period: string };
  depends_on?: Record<string, { condition: string }>;
  deploy?: { replicas?: string; resources?: { limits?: { memory?: string } } };
}
export interface Compose {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean }>;
  volumes: Record<string, object>;
}

/** Returns a value with the defaults of its variables in their place. */
export const byDefault = (value: string): string => value.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');

export const compose = load(read('docker-compose.yml')) as Compose;
export const services = Object.entries(compose.services);

/** Ends by itself, and is not started again when it succeeded. */
export const isJob = (service: Service): boolean => service.restart.startsWith('on-failure');

/** Every `${NAME...}` of the file. */
export const variables = (): { name: string; rest: string }[] =>
  [...read('docker-compose.yml').matchAll(/\$\{(\w+)([^}]*)\}/g)].map(([, name = '', rest = '']) => ({ name, rest }));
