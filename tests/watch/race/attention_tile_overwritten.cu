// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "zero"]]}
// expect: race error
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ float K[32][33], V[32][33];
  int t=threadIdx.x, r=t/32, c=t%32;
  float m=-1e30f,l=0,acc=0;
  for (int tile=0;tile<4;++tile) {
    for(int i=r;i<32;i+=2) {
      K[i][c]=x[(tile*32+i+c)%256];
      V[i][c]=x[(tile+i*c)%256];
    }
    __syncthreads();
    float s=0;
    for(int d=0;d<8;++d) s+=K[c][d]*0.01f;
    float mx=s;
    for(int o=16;o;o/=2) mx=fmaxf(mx,__shfl_xor_sync(~0u,mx,o));
    float nm=fmaxf(m,mx);
    float p=__expf(s-nm);
    float sum=p;
    for(int o=16;o;o/=2) sum+=__shfl_xor_sync(~0u,sum,o);
    float cr=__expf(m-nm);
    l=l*cr+sum;
    acc*=cr;
    for(int j=0;j<32;++j) acc+=__shfl_sync(~0u,p,j)*V[j][c];
    m=nm;
  }
  y[t]=acc/l;
}
